"""What a policy for the embedded engine may be made of: the tree that `rego_parser` reads.

It is a part of Rego on purpose. What the tree cannot express is refused at load: nobody has proved for it that the
embedded engine decides as OPA does. Every node knows the text it was read from: `start`, `end` (offsets) and `line`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands in its module's text."""

    start: int
    end: int
    line: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text, number, boolean or null."""

    at: Place
    value: str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Ref:
    """A name and the steps that follow it: `input.tool.name`, `settings.least_level[tool.authority]`."""

    at: Place
    name: str
    steps: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function or builtin by its dotted path."""

    at: Place
    path: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Collection:
    """An array or set of items: `kind` is `array` or `set`."""

    at: Place
    kind: str
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """An object of constant keys."""

    at: Place
    pairs: tuple[tuple[Scalar, Expr], ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """`[value | body]`, `{value | body}` or `{key: value | body}`."""

    at: Place
    kind: str
    key: Expr | None
    value: Expr
    body: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Binary:
    """Two operands and a sign: a comparison, `in`, or one of `| & + -`."""

    at: Place
    sign: str
    left: Expr
    right: Expr


Expr: TypeAlias = Scalar | Ref | Call | Collection | Table | Comprehension | Binary


@dataclass(frozen=True, slots=True)
class Some:
    """`some x in xs` or `some key, x in xs`."""

    at: Place
    names: tuple[str, ...]
    domain: Expr


@dataclass(frozen=True, slots=True)
class Every:
    """`every x in xs { body }`."""

    at: Place
    names: tuple[str, ...]
    domain: Expr
    body: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """`not expression`."""

    at: Place
    inner: Expr


@dataclass(frozen=True, slots=True)
class Assign:
    """`name := expression`."""

    at: Place
    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Holds:
    """An expression that must hold."""

    at: Place
    inner: Expr


Literal: TypeAlias = Some | Every | Not | Assign | Holds
Node: TypeAlias = Expr | Literal


@dataclass(frozen=True, slots=True)
class Branch:
    """A value (None for true) and the body that it needs; `braced` tells whether braces stand around the body."""

    value: Expr | None
    body: tuple[Literal, ...]
    braced: bool = True


@dataclass(frozen=True, slots=True)
class TreeRule:
    """A rule. `kind`: `default`, `complete`, `set` or `function`; the branches after the first are its `else`."""

    at: Place
    kind: str
    name: str
    parameters: tuple[str, ...]
    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """A module as parsed: package, imports by alias with their lines, rules."""

    file: str
    text: str
    package: str
    imports: Mapping[str, str]
    rules: Sequence[TreeRule]


def children(node: Node) -> Iterator[Node]:
    """Yield the nodes directly inside a node, in the order of the text."""
    match node:
        case Scalar():
            return
        case Ref():
            yield from node.steps
        case Call():
            yield from node.arguments
        case Collection():
            yield from node.items
        case Table():
            for key, value in node.pairs:
                yield key
                yield value
        case Comprehension():
            yield from (part for part in (node.key, node.value) if part is not None)
            yield from node.body
        case Binary():
            yield node.left
            yield node.right
        case Some():
            yield node.domain
        case Every():
            yield node.domain
            yield from node.body
        case Not() | Holds():
            yield node.inner
        case Assign():
            yield node.value


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and everything inside it."""
    yield node
    for child in children(node):
        yield from walk(child)


def nodes(rule: TreeRule) -> Iterator[Node]:
    """Yield everything inside a rule."""
    for branch in rule.branches:
        if branch.value is not None:
            yield from walk(branch.value)
        for literal in branch.body:
            yield from walk(literal)
