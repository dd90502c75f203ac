"""What the server engine puts into an OPA server: one module a package, and a module that vouches for the session.

OPA compiles everything at each upload, so modules of one package that use each other cannot be uploaded one by one;
they are joined, and errors are traced back to the file and line they came from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pytest_soclab.base.errors import Fault, PolicyError
from pytest_soclab.policy.load import parse_modules
from pytest_soclab.policy.model import PACKAGE, PolicySource
from pytest_soclab.policy.rego_text import Module, Statement

PREFIX = "pytest-soclab"
"""The first part of the ids of everything we upload."""
SESSION = "soclab.session"


@dataclass(frozen=True, slots=True)
class Upload:
    """A module to upload: its id, its package, its text, and where each of its lines came from."""

    id: str
    package: str
    text: str
    origin: Sequence[tuple[str, int]]

    def place(self, line: int) -> tuple[str, int]:
        """Return the file and line that a line of the uploaded text came from."""
        return self.origin[line - 1] if 0 < line <= len(self.origin) else (self.id, line)


def uploads(source: PolicySource) -> list[Upload]:
    """Return the modules to upload, the policy's own package and the session's voucher last.

    Raises:
        PolicyError: when two modules of a package import different things under one name.
    """
    modules = sorted(
        parse_modules(source.path, source.modules).values(), key=lambda m: (m.package == PACKAGE, m.package)
    )
    joined = [_join(package, list(group)) for package, group in groupby(modules, key=lambda m: m.package)]
    return [*joined, _voucher(source, [upload.package for upload in joined])]


def _join(package: str, modules: Sequence[Module]) -> Upload:
    lines: list[tuple[str, str, int]] = [(f"package {package}", modules[0].file, 1)]
    lines += [(f"import {path} as {alias}", file, 1) for alias, path, file in _imports(modules)]
    for module in modules:
        for rule in module.rules:
            lines += [("", module.file, rule.line), *_lines(module, rule)]
    text = "\n".join(line for line, _, _ in lines) + "\n"
    return Upload(f"{PREFIX}/{package}", package, text, [(file, number) for _, file, number in lines])


def _imports(modules: Sequence[Module]) -> Iterator[tuple[str, str, str]]:
    seen: dict[str, str] = {}
    for module in modules:
        for alias, path in module.imports.items():
            if path in ("rego.v1", "future.keywords") or path.startswith("future.keywords."):
                continue
            if seen.get(alias, path) != path:
                found = f"imports {path} as {alias}, another module {seen[alias]}"
                raise PolicyError(
                    Fault(found, module.file, remedy="use one name for one thing in all modules of a package")
                )
            if alias not in seen:
                yield alias, path, module.file
            seen[alias] = path


def _lines(module: Module, rule: Statement) -> Iterator[tuple[str, str, int]]:
    for number, line in enumerate(module.text[rule.start : rule.end].split("\n"), start=rule.line):
        yield line, module.file, number


def _voucher(source: PolicySource, packages: Sequence[str]) -> Upload:
    """Return the module whose `envelope` holds the decision, the session's digest, and whether its data stands."""
    kept = [f"\t{path} == {json.dumps(value, ensure_ascii=False)}" for path, value in _branches(source.data, packages)]
    text = "\n".join(
        [
            f"package {SESSION}", "", f'envelope.digest := "{source.digest}"', "",
            f"envelope.decision := data.{PACKAGE}.decision", "",
            "envelope.kept if {", *(kept or ["\ttrue"]), "}", "",
        ]
    )  # fmt: skip
    return Upload(f"{PREFIX}/{SESSION}", SESSION, text, [])


def _branches(
    data: Mapping[str, Any], packages: Sequence[str], path: tuple[str, ...] = ()
) -> Iterator[tuple[str, Any]]:
    """Yield the parts of the data that stand beside the packages: `data["soclab"]["settings"]` and its value."""
    for key, value in data.items():
        here = (*path, key)
        if isinstance(value, Mapping) and any(tuple(p.split("."))[: len(here)] == here for p in packages):
            yield from _branches(value, packages, here)
        else:
            yield "data" + "".join(f"[{json.dumps(part, ensure_ascii=False)}]" for part in here), value
