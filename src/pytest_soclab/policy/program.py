"""What the modules of a policy define together: groups of rules by full path, and what a path leads to.

Faults of heads are found here: rules of different kinds or arities under one name, names that belong to the language,
packages and data that overlap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_soclab.base.errors import Fault
from pytest_soclab.policy.proved import BUILTIN_ROOTS
from pytest_soclab.policy.rego_tree import Tree, TreeRule

RESERVED = "soclab_"
"""The beginning of names that the engine gives to what it adds."""
HELPERS = "soclab.exact"
"""The package that the engine adds."""


@dataclass(frozen=True, slots=True)
class Group:
    """All rules of one name in one package; `kind` is that of its rules but defaults."""

    path: str
    kind: str
    members: tuple[tuple[Tree, TreeRule], ...]

    @property
    def arity(self) -> int:
        """How many arguments the function takes."""
        return len(self.members[0][1].parameters)


@dataclass(frozen=True, slots=True)
class Program:
    """The groups of all modules by full path (`soclab.gateway.reasons`), and the packages."""

    groups: Mapping[str, Group]
    packages: frozenset[str]

    def own(self, tree: Tree) -> set[str]:
        """Return the names of the rules of a module's package."""
        prefix = f"{tree.package}."
        return {path.removeprefix(prefix) for path in self.groups if path.startswith(prefix)} - self.packages

    def group_at(self, path: Sequence[str]) -> tuple[Group, int] | None:
        """Return the group that a path below data leads to and how many parts of the path name it."""
        for length in range(len(path), 0, -1):
            group = self.groups.get(".".join(path[:length]))
            if group is not None:
                return group, length
        return None

    def touches_package(self, path: Sequence[str]) -> bool:
        """Tell whether a path ends above, at or in a package."""
        dotted = ".".join(path) + "."
        return any(f"{package}.".startswith(dotted) or dotted.startswith(f"{package}.") for package in self.packages)


def program_of(trees: Sequence[Tree]) -> Program:
    """Return what the modules define together."""
    members: dict[str, list[tuple[Tree, TreeRule]]] = defaultdict(list)
    for tree in trees:
        for rule in tree.rules:
            members[f"{tree.package}.{rule.name}"].append((tree, rule))
    groups = {path: Group(path, _kind(rules), tuple(rules)) for path, rules in members.items()}
    return Program(groups, frozenset(tree.package for tree in trees))


def _kind(rules: Sequence[tuple[Tree, TreeRule]]) -> str:
    return next((rule.kind for _, rule in rules if rule.kind != "default"), "complete")


def head_faults(program: Program, trees: Sequence[Tree], data: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield what is wrong with packages, imports, names and kinds of rules."""
    for tree in trees:
        yield from _package_faults(program, tree, data)
        yield from _import_faults(program, tree)
    for group in program.groups.values():
        yield from _group_faults(group)


def _package_faults(program: Program, tree: Tree, data: Mapping[str, Any]) -> Iterator[Fault]:
    within = next((p for p in program.groups if f"{tree.package}.".startswith(f"{p}.")), None)
    if within is not None:
        yield Fault(f"the package {tree.package} has the name of the rule {within}", tree.file, 1, remedy="rename one")
    if tree.package == HELPERS or tree.package.startswith(f"{HELPERS}."):
        yield Fault(f"the package {tree.package} is the engine's own", tree.file, 1, remedy="rename it")
    place: Any = data
    for part in tree.package.split("."):
        place = place.get(part) if isinstance(place, dict) else None
    if place is not None:
        yield Fault(f"the data holds something at data.{tree.package}, a package", tree.file, 1, remedy="rename one")


def _import_faults(program: Program, tree: Tree) -> Iterator[Fault]:
    own = program.own(tree)
    for alias, path in tree.imports.items():
        if alias in own or alias in BUILTIN_ROOTS or alias.startswith(RESERVED):
            found = f"the import {path} has the name {alias!r}, which means something else"
            yield Fault(found, tree.file, 1, remedy="give it another name with `as`")


def _group_faults(group: Group) -> Iterator[Fault]:
    first_tree, first = next((m for m in group.members if m[1].kind != "default"), group.members[0])
    if first.name in BUILTIN_ROOTS or first.name.startswith(RESERVED):
        yield Fault(
            f"a rule is called {first.name!r}, as a builtin is", first_tree.file, first.at.line, remedy="rename it"
        )
    defaults = 0
    for tree, rule in group.members:
        defaults += rule.kind == "default"
        if rule.kind == "default" and (group.kind != "complete" or defaults > 1):
            yield Fault(f"a second default of {rule.name}, or one of a set or function", tree.file, rule.at.line,
                        remedy="keep one default, of a rule with a value")  # fmt: skip
        elif rule.kind not in ("default", group.kind):
            yield Fault(f"{rule.name} is a {group.kind} rule and a {rule.kind} rule", tree.file, rule.at.line,
                        remedy="give one of them another name: OPA refuses both under one")  # fmt: skip
        elif rule.kind == "function" and len(rule.parameters) != len(first.parameters):
            yield Fault(f"{rule.name} takes {len(rule.parameters)} arguments", tree.file, rule.at.line,
                        expected=f"{len(first.parameters)}, as above",
                        remedy="give one of them another name: a function has one number of arguments")  # fmt: skip
