"""Writes a vetted module as the embedded engine has to read it to decide as OPA does; every line stays where it is.

- OPA evaluates what stands under a `not` before the `not`: `not f(input.x)` fails where `input.x` is missing, and holds in
  regopy. So every operand that can be undefined gets a name of its own before the `not`.
- OPA orders values of different kinds, regopy does not: what `<` compares must be a number, or there is no answer.
- regopy compares texts as they are escaped: characters that need an escape stand for themselves (see `plain_text`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from pytest_soclab.policy.plain_text import inward
from pytest_soclab.policy.program import HELPERS, RESERVED
from pytest_soclab.policy.rego_tree import (
    Binary,
    Branch,
    Call,
    Comprehension,
    Expr,
    Node,
    Not,
    Ref,
    Scalar,
    Tree,
    children,
)

HELPER_TEXT = f"""package {HELPERS}

number(value) := value if is_number(value)

number(value) := 1 if not is_number(value)

number(value) := 2 if not is_number(value)
"""
"""`number` returns a number as it is; for anything else it has two values, which is an error and no answer at all."""
_ORDERING = {"<", "<=", ">", ">="}


def normal_form(tree: Tree) -> str:
    """Return the text of a vetted module in the form that the embedded engine reads as OPA does."""
    return _Writer(tree.text).module(tree)


class _Writer:
    """Writes nodes from the text that they were read from, with what is inside them written anew."""

    def __init__(self, text: str) -> None:
        self._text = text
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
            if isinstance(literal, Not) and not branch.braced:
                written = f"{{ {written} }}"
            yield literal.at.start, literal.at.end, written

    def _write(self, node: Node) -> str:
        match node:
            case Scalar():
                return (
                    json.dumps(inward(node.value), ensure_ascii=False)
                    if isinstance(node.value, str)
                    else self._raw(node)
                )
            case Ref():
                return self._between(node, [step for step in node.steps if not _is_dotted(step, self._text)])
            case Not():
                return self._negation(node)
            case Binary() if node.sign in _ORDERING:
                sides = {id(side): self._number(side) for side in (node.left, node.right)}
                return self._between(node, [node.left, node.right], sides)
        return self._between(node, list(children(node)))

    def _raw(self, node: Node) -> str:
        return self._text[node.at.start : node.at.end]

    def _between(self, node: Node, inside: Sequence[Node], written: dict[int, str] | None = None) -> str:
        """Return a node's text with the text of what is inside it written anew."""
        parts, at = [], node.at.start
        for child in inside:
            text = (written or {}).get(id(child)) or self._write(child)
            parts += [self._text[at : child.at.start], text]
            at = child.at.end
        return "".join(parts) + self._text[at : node.at.end]

    def _number(self, side: Expr) -> str:
        written = self._write(side)
        return written if _is_number(side) else f"data.{HELPERS}.number({written})"

    # ---- negations

    def _negation(self, node: Not) -> str:
        named: list[str] = []
        inner = self._hoisted(node.inner, named)
        return "; ".join([*named, f"not {inner}"])

    def _hoisted(self, node: Expr, named: list[str]) -> str:
        """Return the negated expression with names in place of what OPA evaluates before the `not`."""
        match node:
            case Binary():
                keep = node.sign == "=="
                sides = {id(side): self._operand(side, named, keep) for side in (node.left, node.right)}
                if node.sign in _ORDERING:
                    sides = {
                        key: text if _is_digits(text) else f"data.{HELPERS}.number({text})"
                        for key, text in sides.items()
                    }
                return self._between(node, [node.left, node.right], sides)
            case Call():
                arguments = {id(item): self._operand(item, named, keep=False) for item in node.arguments}
                return self._between(node, node.arguments, arguments)
            case Ref():
                return self._operand(node, named, keep=True)
        return self._operand(node, named, keep=False)

    def _operand(self, node: Expr, named: list[str], keep: bool) -> str:
        """Return an operand under `not`: as it is where it is defined for certain, else its new name."""
        if isinstance(node, Scalar | Comprehension):
            return self._write(node)
        if isinstance(node, Ref) and keep:
            steps = [step for step in node.steps if not _is_dotted(step, self._text)]
            indexes = {id(step): self._operand(step, named, keep=False) for step in steps}
            return self._between(node, steps, indexes)
        self._count += 1
        name = f"{RESERVED}{self._count}"
        named.append(f"{name} := {self._write(node)}")
        return name


def _is_dotted(step: Expr, text: str) -> bool:
    """Tell whether a step is a name after a dot, which is written as it is."""
    return isinstance(step, Scalar) and text[step.at.start] not in '"`' and isinstance(step.value, str)


def _is_number(node: Expr) -> bool:
    counted = isinstance(node, Call) and node.path == "count"
    return counted or (isinstance(node, Scalar) and isinstance(node.value, int | float))


def _is_digits(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()
