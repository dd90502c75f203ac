"""Reads a policy directory: modules, data, digest and deny rules, with every fault at its place."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_soclab.base.errors import Fault, PolicyError, ScenarioError, nearest, quote
from pytest_soclab.evidence.ledger import digest
from pytest_soclab.policy.model import PACKAGE, PolicySource, Rule
from pytest_soclab.policy.rego_text import Module, deny_rules, parse
from pytest_soclab.reading.yaml_source import load_for_others

MAX_BYTES = 1_048_576
MAX_INTEGER = 2**53
_DIGITS = 400  # of a number that is read as a whole one
_MAX_NESTING = 100  # levels of the data document; readers recurse
_DATA_NAMES = ("data.yaml", "data.yml", "data.json")
REASONS = "reasons.yaml"
"""The file of a policy directory that says which of its reasons are the corpus's under another name."""
_REASON = re.compile(r"[a-z][a-z0-9_]{1,59}")
_NO_POLICY = re.compile(r"(approver|agent|nothing|policy_unavailable)$|grant_|transcript_")
"""Stops that are no policy's, whatever it calls its reasons."""
_OPTION = "give --soclab-policies a directory with .rego files"


def load_policy(directory: Path) -> PolicySource:
    """Read a directory of `.rego` modules (tests left out) and `data.yaml` or `data.json` files.

    A data file in a subfolder stands under the folder's name, as `opa run` and `opa test` have it.

    Raises:
        PolicyError: with every fault found, each with file and line.
    """
    files = list(_files(directory))
    names = _reasons(directory / REASONS)
    modules = {name: _text(path) for name, path in files if name.endswith(".rego")}
    if not modules:
        raise PolicyError(
            Fault("found no policy module", str(directory), expected="at least one .rego", remedy=_OPTION)
        )
    data: dict[str, Any] = {}
    for name, path in files:
        if not name.endswith(".rego"):
            _merge(data, _data(path, name), path)
    source = source_of(str(directory), modules, data, names)
    _check_names(names, {rule.own or rule.reason for rule in source.rules}, directory / REASONS)
    return source


def source_of(
    path: str, modules: Mapping[str, str], data: Mapping[str, Any], names: Mapping[str, str] = MappingProxyType({})
) -> PolicySource:
    """Build a policy from module texts by file name, a data document, and what the corpus calls its reasons.

    Raises:
        PolicyError: when no module decides, a number is beyond 2^53, or the data nests too deep.
    """
    parsed = parse_modules(path, modules)
    if _nesting(data) > _MAX_NESTING:
        raise PolicyError(Fault(f"the data nests more than {_MAX_NESTING} levels", path, remedy="flatten it"))
    faults = [*_no_decision(list(parsed.values())), *(f for module in parsed.values() for f in _numbers(module))]
    if faults:
        raise PolicyError(*faults)
    rules = [_short(rule, name, names) for name, module in parsed.items() for rule in deny_rules(module)]
    whole = digest({"modules": dict(modules), "data": data, **({"reasons": dict(names)} if names else {})})
    return PolicySource(path, dict(modules), dict(data), whole, tuple(rules), dict(names))


def _reasons(path: Path) -> dict[str, str]:
    """Return what `reasons.yaml` maps: the policy's own reasons to the names that the corpus has for the same."""
    if not path.exists():
        return {}
    names = _plain(path)
    for own, known in names.items():
        if not isinstance(known, str) or not _REASON.fullmatch(known) or _NO_POLICY.match(known):
            fault = f"found {quote(known)}"
            raise PolicyError(Fault(fault, str(path), field=str(own), expected="one reason of the corpus",
                                    remedy="write `crown_jewel: protected_asset`"))  # fmt: skip
    return names


def _check_names(names: Mapping[str, str], own: set[str], path: Path) -> None:
    """Refuse a name for a reason that the policy never gives: the mapping would say nothing."""
    faults = [
        Fault("is no reason of this policy", str(path), field=name, remedy=nearest(name, own))
        for name in names
        if own and name not in own
    ]
    if faults:
        raise PolicyError(*faults)


def _nesting(data: Any) -> int:
    """Return how many levels of objects and lists a document has."""
    level, inside = 0, [data]
    while inside := [value for value in inside if isinstance(value, dict | list)]:
        level += 1
        inside = [item for value in inside for item in (value.values() if isinstance(value, dict) else value)]
    return level


def parse_modules(path: str, modules: Mapping[str, str]) -> dict[str, Module]:
    """Return the modules by file name, split into statements; their places name the whole path."""
    return {name: parse(str(Path(path) / name), text) for name, text in sorted(modules.items())}


def _short(rule: Rule, name: str, names: Mapping[str, str]) -> Rule:
    own = rule.reason if rule.reason in names else ""
    return Rule(names.get(rule.reason, rule.reason), name, rule.line, rule.title, own)


def _files(directory: Path) -> Iterator[tuple[str, Path]]:
    if not directory.is_dir():
        found = "is no directory" if directory.exists() else "does not exist"
        raise PolicyError(Fault(f"the policy directory {found}", str(directory), remedy=_OPTION))
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        hidden = any(part.startswith(".") for part in name.split("/"))
        if path.is_dir() or hidden or name.endswith("_test.rego") or name == REASONS:
            continue
        if path.suffix == ".rego" or path.name in _DATA_NAMES:
            yield name, path
        elif path.suffix in (".json", ".yaml", ".yml"):
            remedy = f"call it {_DATA_NAMES[0]} or move it elsewhere: `opa test` would load it as data"
            raise PolicyError(Fault("found a data file of another name", str(path), remedy=remedy))


def _text(path: Path) -> str:
    try:
        raw = _bytes(path)
    except OSError as error:
        raise PolicyError(Fault(f"cannot be read ({error.strerror})", str(path))) from None
    if len(raw) > MAX_BYTES:
        raise PolicyError(Fault(f"found more than {MAX_BYTES} bytes", str(path), expected=f"at most {MAX_BYTES}"))
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise PolicyError(
            Fault(f"byte 0x{raw[error.start]:02x} is not UTF-8", str(path), line, expected="UTF-8")
        ) from None


def _bytes(path: Path) -> bytes:
    """Return one byte more than is allowed at most; a pipe or device, which may never end, is not opened."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise PolicyError(Fault("is no regular file", str(path), remedy="put a file there, or give it another name"))
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _plain(path: Path) -> dict[str, Any]:
    try:
        return dict(_json(path) if path.suffix == ".json" else load_for_others(_text(path), str(path)))
    except ScenarioError as error:
        raise PolicyError(*error.faults) from None


def _data(path: Path, name: str) -> dict[str, Any]:
    value = _plain(path)
    for folder in reversed(name.split("/")[:-1]):
        value = {folder: value}
    return dict(value)


def _json(path: Path) -> Any:
    try:
        value = json.loads(
            _text(path), object_pairs_hook=_unique, parse_int=_bounded, parse_float=_finite, parse_constant=_bounded
        )
    except json.JSONDecodeError as error:
        raise PolicyError(Fault(error.msg, str(path), error.lineno, error.colno, expected="JSON")) from None
    except ValueError as error:
        raise PolicyError(Fault(str(error), str(path), remedy="correct it")) from None
    except RecursionError:
        raise PolicyError(Fault("nests too deep to be read", str(path), remedy="flatten it")) from None
    if not isinstance(value, dict):
        raise PolicyError(Fault(f"found {quote(value)}", str(path), 1, 1, expected="an object"))
    if _HALF.search(json.dumps(value, ensure_ascii=False)):
        found = "found half of a character (a surrogate)"
        raise PolicyError(Fault(found, str(path), expected="whole characters", remedy="mend the escape \\ud8…"))
    return value


_HALF = re.compile("[\ud800-\udfff]")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {quote(key)} stands twice in one object")
        found[key] = value
    return found


def _bounded(number: str) -> int:
    digits = number.lstrip("-")
    if not digits.isdigit() or len(digits) >= _DIGITS or abs(int(number)) > MAX_INTEGER:
        raise ValueError(f"the number {quote(number)} is not finite or beyond 2^53")
    return int(number)


def _finite(number: str) -> float:
    value = float(number)
    if abs(value) > MAX_INTEGER:
        raise ValueError(f"the number {quote(number)} is not finite or beyond 2^53")
    return value


def _merge(into: dict[str, Any], new: Mapping[str, Any], path: Path, where: str = "") -> None:
    for key, value in new.items():
        place = f"{where}.{key}" if where else key
        if key not in into:
            into[key] = value
        elif isinstance(into[key], dict) and isinstance(value, dict):
            _merge(into[key], value, path, place)
        else:
            raise PolicyError(
                Fault("is given by another data file too", str(path), field=place, remedy="keep one of them")
            )


def _no_decision(modules: Sequence[Module]) -> Iterator[Fault]:
    ours = [module for module in modules if module.package == PACKAGE]
    if not ours:
        first = modules[0]
        found = f"package {first.package}" if first.package else "no package"
        line = next((t.line for t in first.all_tokens if t.text == "package"), 1)
        yield Fault(f"found {found}", first.file, line, expected=f"package {PACKAGE}", remedy="see docs/policy.md")
    elif not any(rule.name == "decision" for module in ours for rule in module.rules):
        line = ours[0].rules[0].line if ours[0].rules else 1
        yield Fault(
            f"no rule of package {PACKAGE} is called decision", ours[0].file, line,
            remedy='add `decision := {"outcome": …, "reasons": …, "obligations": …}`; see docs/policy.md',
        )  # fmt: skip


def _value(number: str) -> int | float:
    return int(number) if number.isdigit() and len(number) < _DIGITS else float(number)


def _numbers(module: Module) -> Iterator[Fault]:
    for token in module.all_tokens:
        if token.kind == "number" and _value(token.text) > MAX_INTEGER:
            yield Fault(
                f"the number {quote(token.text)}", module.file, token.line, expected="at most 2^53",
                remedy="engines disagree on larger ones: write it as text or in a larger unit",
            )  # fmt: skip
