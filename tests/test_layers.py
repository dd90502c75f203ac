"""The module order of ARCHITECTURE.md, enforced."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "pytest_soclab"
NAME = "pytest_soclab"


def table() -> list[tuple[list[str], set[str]]]:
    rows = []
    for line in (ROOT / "ARCHITECTURE.md").read_text().splitlines():
        match = re.match(r"\| ((?:`\w+`(?:, )?)+) \|([^|]*)\|", line)
        if match:
            libraries = {part.strip() for part in match[2].split(",") if part.strip()}
            rows.append((re.findall(r"`(\w+)`", match[1]), libraries))
    return rows


ROWS = table()
RANK = {module: rank for rank, (modules, _) in enumerate(ROWS) for module in modules}
LIBRARIES = {module: libraries for modules, libraries in ROWS for module in modules}


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "_bundled" not in path.parts)


def top(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of every import, those that only a type checker sees included."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import; write the full name"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def dotted(path: Path) -> str:
    return str(path.relative_to(PACKAGE)).removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def arrows() -> dict[str, set[str]]:
    """Return which module of ours imports which."""
    known = {dotted(path): path for path in modules()}
    found: dict[str, set[str]] = {name: set() for name in known}
    for name, path in known.items():
        for _, imported in imports(path):
            parts = imported.split(".")[1:] if imported.startswith(f"{NAME}.") else []
            target = next(
                (t for n in (len(parts), len(parts) - 1) if n > 0 and (t := ".".join(parts[:n])) in known), ""
            )
            found[name] |= {target} - {"", name}
    return found


def circles(found: dict[str, set[str]]) -> set[str]:
    """Return the modules that take part in a circle: those left once all without an arrow out are taken away."""
    left = {name: set(targets) for name, targets in found.items()}
    while free := {name for name, targets in left.items() if not targets}:
        left = {name: targets - free for name, targets in left.items() if name not in free}
    return {name for name in left if name in reachable(name, left)}


def reachable(start: str, found: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    todo = [start]
    while todo:
        new = found.get(todo.pop(), set()) - seen
        seen |= new
        todo += new
    return seen


def faults(path: Path) -> Iterator[str]:
    own = top(path)
    for line, name in imports(path):
        first, *rest = name.split(".")
        place = f"{path.relative_to(ROOT)}:{line}"
        if first == NAME:
            target = rest[0] if rest else "__init__"
            if target in RANK and RANK[target] < RANK[own]:
                yield f"{place}: {own} imports {target}, which lies above it"
        elif first not in sys.stdlib_module_names and first not in LIBRARIES[own]:
            yield f"{place}: {own} imports {first}, which ARCHITECTURE.md does not give it"


def test_the_table_names_every_module() -> None:
    found = {top(path) for path in modules()} - {"__init__", "__main__"}
    assert found == set(RANK)


@pytest.mark.parametrize("path", [p for p in modules() if top(p) in RANK], ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_module_imports_upward_or_a_library_of_others(path: Path) -> None:
    assert list(faults(path)) == []


def test_the_check_sees_an_upward_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = PACKAGE / "evidence" / "ledger.py"
    monkeypatch.setattr(Path, "read_text", lambda self: "from pytest_soclab.trials import trial\nimport scipy\n")
    assert [text.split(": ", 1)[1] for text in faults(bad)] == [
        "evidence imports trials, which lies above it",
        "evidence imports scipy, which ARCHITECTURE.md does not give it",
    ]


def test_no_module_takes_part_in_a_circle() -> None:
    assert circles(arrows()) == set()


def test_a_circle_is_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}) == {"b", "c"}


def test_every_room_says_what_lives_there() -> None:
    for folder in {path.parent for path in modules()} - {PACKAGE}:
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text())), f"{folder} has no docstring"


def test_little_lies_loose_beside_the_rooms() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == {"__init__", "plugin", "options", "public", "errors"}


def test_the_plugin_is_a_switchboard() -> None:
    text = (PACKAGE / "plugin.py").read_text()
    assert text.count("\n") <= 150
    tree = ast.parse(text)
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef | ast.For | ast.While)]
    longest = max(len(n.body) for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))
    assert longest <= 6


def test_modules_and_functions_stay_small() -> None:
    long = []
    for path in modules():
        text = path.read_text()
        if text.count("\n") > 400:
            long.append(f"{path.name}: {text.count(chr(10))} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno - node.lineno > 40:
                long.append(f"{path.name}:{node.lineno} {node.name}: {node.end_lineno - node.lineno} lines")
    assert long == []
