"""The tokens of a module as its reader takes them, with the limits that keep readers from recursing too deep."""

from __future__ import annotations

import re

from pytest_soclab.base.errors import Fault, PolicyError, quote
from pytest_soclab.policy.rego_text import Token, tokens
from pytest_soclab.policy.rego_tree import Place

REMEDY = "write it otherwise (docs/policy.md), or let OPA itself decide (--soclab-opa-binary)"
KEYWORDS = {
    "as", "contains", "data", "default", "else", "every", "false", "if", "import", "in", "input", "not", "null",
    "package", "some", "true", "with",
}  # fmt: skip
COMPARING = {"==", "!=", "<", "<=", ">", ">="}
JOINING = {"|", "&", "+", "-"}
MAX_DEPTH = 40
"""Brackets, and expressions in each other, that a module may nest; readers recurse."""
_MAX_TOKENS = 40_000  # of a module
END = Token("end", "", 0, 0, False, 0)
"""What follows the last token."""


class TokenStream:
    """The tokens of one module and the place of the reader among them."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        every = tokens(text)
        self.tokens = [t for t in every if t.kind not in ("comment", "newline")]
        self.at = 0
        self._check(every)

    def _check(self, every: list[Token]) -> None:
        if len(every) > _MAX_TOKENS:
            raise self.fault(f"found {len(every)} words and signs, expected at most {_MAX_TOKENS}", every[-1])
        deep = next((t for t in every if t.depth > MAX_DEPTH), None)
        if deep is not None:
            raise self.fault(f"found brackets more than {MAX_DEPTH} deep", deep)
        if "\ufeff" in self.text or "\r" in self.text.replace("\r\n", "\n"):
            line = re.split(r"\ufeff|\r(?!\n)", self.text)[0].count("\n") + 1
            raise PolicyError(Fault("found a byte order mark or a lone carriage return", self.file, line))

    def fault(self, found: str, token: Token | None = None, remedy: str = REMEDY) -> PolicyError:
        """Return an error at a token (the one at hand if none is given)."""
        token = token or self.now()
        line = token.line or (self.tokens[-1].line if self.tokens else 1)
        return PolicyError(Fault(found, self.file, line, remedy=remedy))

    def now(self, ahead: int = 0) -> Token:
        """Return the token at hand, or one ahead of it; `END` after the last."""
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else END

    def last(self) -> Token:
        """Return the token that was taken last."""
        return self.tokens[self.at - 1]

    def sees(self, *texts: str) -> bool:
        """Tell whether the token at hand is one of these words or signs."""
        return self.now().kind in ("name", "mark") and self.now().text in texts

    def same_line(self) -> bool:
        """Tell whether the token at hand stands on the line on which the one before it ends."""
        return self.now().line == self.last().line + self.last().text.count("\n")

    def take(self) -> Token:
        """Return the token at hand and go on to the next."""
        token = self.now()
        if token is END:
            raise self.fault("the module ends in the middle of a rule")
        self.at += 1
        return token

    def need(self, text: str, why: str = "") -> Token:
        """Take a word or sign that must stand here."""
        if not self.sees(text):
            found = f"found {quote(self.now().text)}" if self.now() is not END else "the module ends"
            raise self.fault(f"{found} where {text!r} is needed{why}")
        return self.take()

    def skip(self, text: str) -> bool:
        """Take a word or sign if it stands here, and tell whether it did."""
        found = self.sees(text)
        self.at += found
        return found

    def name(self) -> Token:
        """Take a name that is no keyword."""
        token = self.take()
        if token.kind != "name" or token.text in KEYWORDS:
            raise self.fault(f"found {quote(token.text)} where a name is needed", token)
        return token

    def place(self, first: int) -> Place:
        """Return the place from a token (by its position) to the one taken last."""
        last = self.last()
        return Place(self.tokens[first].start, last.start + len(last.text), self.tokens[first].line)

    def place_of_next(self) -> Place:
        """Take one token and return its place."""
        self.take()
        return self.place(self.at - 1)
