"""Writes a vetted module as the embedded engine has to read it to decide as OPA does; every line stays where it is.

- OPA evaluates what stands under a `not` before it: `not f(input.x)` fails where `input.x` is missing, and holds in
  regopy. So every operand gets a name of its own before the `not`; a `not` in a comprehension there is misread, too.
- What a builtin refuses is undefined in OPA; in regopy it ends the answer, or stays as a value that is not false. So an
  argument goes through a function that is undefined for other kinds.
- OPA orders values of different kinds, regopy does not: what `<` compares must be a number, or there is no answer.
- regopy compares texts as they are escaped: characters that need an escape are replaced (see `plain_text`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pytest_soclab.policy.plain_text import inward
from pytest_soclab.policy.program import HELPERS, RESERVED
from pytest_soclab.policy.proved import PROVED
from pytest_soclab.policy.rego_tree import (
    Binary,
    Branch,
    Call,
    Collection,
    Comprehension,
    Expr,
    Node,
    Not,
    Ref,
    Scalar,
    Table,
    Tree,
    children,
)

_TESTS = {
    "a_text": "is_string(value)",
    "an_array": "is_array(value)",
    "an_object": "is_object(value)",
    "a_set": "is_set(value)",
    "a_number": "is_number(value)",
}
_GUARDS = {
    ("string",): "a_text",
    ("array",): "an_array",
    ("object",): "an_object",
    ("set",): "a_set",
    ("number",): "a_number",
    ("string", "array", "object", "set"): "a_collection",
}
_COLLECTION = ("a_text", "an_array", "an_object", "a_set")
HELPER_TEXT = "\n\n".join(
    [
        f"package {HELPERS}",
        *(f"{name}(value) := value if {test}" for name, test in _TESTS.items()),
        *(f"a_collection(value) := value if {_TESTS[name]}" for name in _COLLECTION),
        "ordered(value) := value if is_number(value)",
        "ordered(value) := 1 if not is_number(value)",
        "ordered(value) := 2 if not is_number(value)",
        "",
    ]
)
"""Functions that return a value of the kind that they are named after and are undefined for any other; `ordered` has
two values for what is no number, which is an error and no answer at all."""
_ORDERING = {"<", "<=", ">", ">="}


def normal_form(tree: Tree, set_differences: frozenset[tuple[str, int]]) -> str:
    """Return the text of a vetted module in the form that the embedded engine reads as OPA does.

    `set_differences` names the `-` between sets by file and offset.
    """
    differences = frozenset(start for file, start in set_differences if file == tree.file)
    return _Writer(tree.text, differences).module(tree)


class _Writer:
    """Writes nodes from the text that they were read from, with what is inside them written anew."""

    def __init__(self, text: str, set_differences: frozenset[int]) -> None:
        self._text, self._set_differences = text, set_differences
        self._count = 0

    def module(self, tree: Tree) -> str:
        """Write all rules, and what stands between them as it is."""
        parts, at = [], 0
        for rule in tree.rules:
            for branch in rule.branches:
                for start, end, written in self._branch(branch):
                    parts += [self._text[at:start], written]
                    at = end
        return "".join(parts) + self._text[at:]

    def _branch(self, branch: Branch) -> Iterator[tuple[int, int, str]]:
        if branch.value is not None:
            yield branch.value.at.start, branch.value.at.end, self._write(branch.value)
        for literal in branch.body:
            written = self._write(literal)
            needs_braces = not branch.braced and isinstance(literal, Not)
            yield literal.at.start, literal.at.end, f"{{ {written} }}" if needs_braces else written

    def _write(self, node: Node) -> str:
        match node:
            case Scalar():
                return self._scalar(node)
            case Ref():
                return self._between(node, self._indexes(node), self._write)
            case Not():
                return self._negation(node)
            case Binary():
                return self._between(node, [node.left, node.right], lambda side: self._side(node, side, self._write))
            case Call():
                return self._call(node, self._write)
        return self._between(node, list(children(node)), self._write)

    def _scalar(self, node: Scalar) -> str:
        if isinstance(node.value, str):
            return json.dumps(inward(node.value), ensure_ascii=False)
        return self._text[node.at.start : node.at.end]

    def _indexes(self, node: Ref) -> list[Expr]:
        return [step for step in node.steps if not _is_dotted(step, self._text)]

    def _between(self, node: Node, inside: Sequence[Any], write: Callable[[Any], str]) -> str:
        """Return a node's text with the text of what is inside it written anew."""
        parts, at = [], node.at.start
        for child in inside:
            parts += [self._text[at : child.at.start], write(child)]
            at = child.at.end
        return "".join(parts) + self._text[at : node.at.end]

    def _call(self, node: Call, write: Callable[[Expr], str]) -> str:
        """Write a call, each argument of a builtin behind the function that keeps other kinds away."""
        builtin = PROVED.get(node.path)
        if builtin is None or node.path == "set":
            return self._between(node, node.arguments, write)
        if node.path == "regex.match":
            return f"regex.match(`{_constant(node)}`, {_guarded(node.arguments[1], write, ('string',))})"
        kinds = {id(item): kind for item, kind in zip(node.arguments, builtin.arguments, strict=True)}
        return self._between(node, node.arguments, lambda item: _guarded(item, write, kinds[id(item)]))

    def _side(self, node: Binary, side: Expr, write: Callable[[Expr], str]) -> str:
        """Write one side of a sign, behind the function that keeps away what it does not take."""
        if node.sign in _ORDERING:
            return write(side) if _is_number(side) else f"data.{HELPERS}.ordered({write(side)})"
        if node.sign in ("|", "&") or node.at.start in self._set_differences:
            return _guarded(side, write, ("set",))
        return _guarded(side, write, ("number",)) if node.sign in ("+", "-") else write(side)

    # ---- negations

    def _negation(self, node: Not) -> str:
        named: list[str] = []
        inner = self._negated(node.inner, named)
        return "; ".join([*named, f"not {inner}"])

    def _negated(self, node: Expr, named: list[str]) -> str:
        """Return the negated expression with names in place of what OPA evaluates before the `not`."""
        match node:
            case Binary():
                keep = node.sign == "=="
                operand = lambda side: self._operand(side, named, keep=keep)  # noqa: E731  # one use, at once
                return self._between(node, [node.left, node.right], lambda side: self._side(node, side, operand))
            case Call():
                return self._call(node, lambda item: self._operand(item, named, keep=False))
        return self._operand(node, named, keep=isinstance(node, Ref))

    def _operand(self, node: Expr, named: list[str], *, keep: bool) -> str:
        """Return an operand under `not`: as it is where it is defined for certain, else its new name."""
        if isinstance(node, Scalar):
            return self._write(node)
        if isinstance(node, Ref) and keep:
            return self._between(node, self._indexes(node), lambda step: self._operand(step, named, keep=False))
        self._count += 1
        name = f"{RESERVED}{self._count}"
        named.append(f"{name} := {self._write(node)}")
        return name


def _constant(node: Call) -> str:
    pattern = node.arguments[0]
    return str(pattern.value) if isinstance(pattern, Scalar) else ""


def _guarded(node: Expr, write: Callable[[Expr], str], kinds: tuple[str, ...]) -> str:
    """Return an expression behind the function that is undefined for other kinds, where its kind does not show."""
    if not kinds or _kind(node) in kinds:
        return write(node)
    return f"data.{HELPERS}.{_GUARDS[kinds]}({write(node)})"


def _kind(node: Expr) -> str:
    match node:
        case Scalar(value=str()):
            return "string"
        case Collection() | Comprehension():
            return node.kind
        case Table():
            return "object"
    return "number" if _is_number(node) else ""


def _is_dotted(step: Expr, text: str) -> bool:
    """Tell whether a step is a name after a dot, which is written as it is."""
    return isinstance(step, Scalar) and text[step.at.start] not in '"`' and isinstance(step.value, str)


def _is_number(node: Expr) -> bool:
    counted = isinstance(node, Call) and node.path == "count"
    return counted or (isinstance(node, Scalar) and type(node.value) in (int, float))
