"""One-token mutants of a policy: a token left out, doubled, misspelt, or put in another's place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_soclab.policy.rego_text import Token, tokens

_OTHERS = {
    "==": ["!=", "=", ":=", "<="], "!=": ["=="], "<=": ["<", ">="], ">=": [">", "<="], "<": ["<=", ">"], ">": ["<"],
    ":=": ["=", "=="], "not": [""], "every": ["some"], "some": ["every"], "in": ["=="], "if": ["contains"],
    "contains": ["if"], "else": [""], "true": ["false"], "false": ["true"], "count": ["sum"], ".": ["["], "{": ["["],
    "(": ["["], "[": ["("], ",": [";"], "|": ["&"], "input": ["data"], "data": ["input"], "default": [""],
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A changed module of the policy: its name, text, and what was done at which line."""

    name: str
    text: str
    change: str


def mutants(modules: Mapping[str, str]) -> Iterator[Mutant]:
    """Yield every one-token mutant, in the order of the files."""
    for name, text in sorted(modules.items()):
        for token in tokens(text):
            if token.kind not in ("comment", "newline"):
                for new in dict.fromkeys(_replacements(token)):
                    changed = text[: token.start] + new + text[token.start + len(token.text) :]
                    yield Mutant(name, changed, f"{name}:{token.line} {token.text!r} -> {new!r}")


def _replacements(token: Token) -> Iterator[str]:
    yield ""
    yield f"{token.text} {token.text}"
    yield from _OTHERS.get(token.text, ())
    match token.kind:
        case "name":
            yield f"{token.text}x"
            yield f"not {token.text}"
        case "number":
            yield f"{token.text}0"
            yield f'"{token.text}"'
        case "string":
            yield f'{token.text[:-1]}x"'
            yield "null"
