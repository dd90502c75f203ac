"""Reads Rego as far as the project needs: tokens with their lines, the statements of a module, and its deny rules.

This is no parser. It finds what a parser would be asked for here: which names a statement defines, binds and calls. A
text that it cannot split into tokens is left to the engine's own compiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pytest_soclab.policy.model import Rule

_TOKEN = re.compile(
    r"""
    (?P<comment>\#[^\n]*)
  | (?P<raw>`[^`]*`)
  | (?P<string>"(?:\\.|[^"\\\n])*")
  | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<newline>\n)
  | (?P<space>[ \t\r\ufeff]+)
  | (?P<mark>:=|==|!=|<=|>=|.)
    """,
    re.VERBOSE,
)
_OPENING, _CLOSING = "([{", ")]}"
_GOES_ON = {"if", "contains", "else", "in", "and", "or", "not", ":=", "=", "==", "!=", "<", ">", "<=", ">=", ",", "|"}
"""A line that ends in one of these goes on in the next, even outside brackets."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token; `glued` tells that no white space stands before it, `depth` counts the open brackets around it."""

    kind: str
    text: str
    line: int
    start: int
    glued: bool
    depth: int


def tokens(text: str) -> list[Token]:
    """Return the tokens of a module, line ends included, white space left out."""
    found: list[Token] = []
    line, depth, glued = 1, 0, False
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup or "mark", match[0]
        depth -= kind == "mark" and token in _CLOSING
        if kind != "space":
            found.append(Token(kind, token, line, match.start(), glued, depth))
        depth += kind == "mark" and token in _OPENING
        glued = kind not in ("space", "newline")
        line += token.count("\n")
    return found


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a module (package, import, rule): its tokens but comments and line ends, and where it ends."""

    tokens: Sequence[Token]
    end: int

    @property
    def line(self) -> int:
        """The line of its first token."""
        return self.tokens[0].line

    @property
    def start(self) -> int:
        """The offset of its first token."""
        return self.tokens[0].start

    @property
    def name(self) -> str:
        """The name that a rule defines; the keyword of a package or import statement."""
        return self.tokens[1].text if self.tokens[0].text == "default" and len(self.tokens) > 1 else self.tokens[0].text

    @property
    def reason(self) -> str | None:
        """The reason of a deny rule `reasons contains "x"`, or None."""
        texts = [token.text for token in self.tokens[:3]]
        is_rule = texts[:2] == ["reasons", "contains"] and len(texts) == 3 and self.tokens[2].kind in ("string", "raw")
        return texts[2][1:-1] if is_rule else None


@dataclass(frozen=True, slots=True)
class Module:
    """A module: its package (`soclab.gateway`), imports by alias, and rules."""

    file: str
    text: str
    package: str
    imports: Mapping[str, str]
    rules: Sequence[Statement]
    all_tokens: Sequence[Token] = field(repr=False)


def parse(file: str, text: str) -> Module:
    """Split a module into its statements."""
    every = tokens(text)
    package, imports, rules = "", {}, []
    for statement in _statements(every, len(text)):
        if statement.name == "package":
            package = _dotted(statement.tokens[1:])
        elif statement.name == "import":
            imports.update(_import(statement.tokens[1:]))
        else:
            rules.append(statement)
    return Module(file, text, package, imports, rules, every)


def _statements(every: Sequence[Token], end: int) -> Iterator[Statement]:
    kept = [token for token in every if token.kind not in ("comment", "newline")]
    starts = [0] if kept else []
    dotted = [False, *(token.text == "." for token in kept)]
    starts += [i + 1 for i, (before, token) in enumerate(pairwise(kept)) if _begins(before, token, dotted[i])]
    for first, after in pairwise([*starts, len(kept)]):
        last = kept[after - 1]
        yield Statement(kept[first:after], min(last.start + len(last.text), end))


def _begins(before: Token, token: Token, dotted: bool) -> bool:
    """Tell whether a token begins a statement; `dotted` says that the one before ends a path, as an import's may."""
    new_line = token.line > before.line and token.depth == 0 and token.kind == "name"
    goes_on = before.text in _GOES_ON and not dotted
    return new_line and token.text != "else" and not goes_on


def _dotted(parts: Sequence[Token]) -> str:
    return ".".join(part.text.strip('"') for part in parts if part.text not in (".", "[", "]"))


def _import(parts: Sequence[Token]) -> dict[str, str]:
    named = [i for i, part in enumerate(parts) if part.text == "as"]
    path = _dotted(parts[: named[0]] if named else parts)
    alias = parts[named[0] + 1].text if named and len(parts) > named[0] + 1 else path.rpartition(".")[2]
    return {alias: path}


def deny_rules(module: Module) -> Iterator[Rule]:
    """Yield the deny rules of a module with their place and the title in their METADATA."""
    for statement in module.rules:
        if statement.reason is not None:
            yield Rule(statement.reason, module.file, statement.line, _title(module, statement))


def _title(module: Module, statement: Statement) -> str:
    comments = {token.line: token.text for token in module.all_tokens if token.kind == "comment"}
    line, block = statement.line - 1, []
    while line in comments:
        block.append(comments[line])
        line -= 1
    titles = [text.partition("title:")[2].strip() for text in reversed(block) if text.startswith("# title:")]
    return titles[0] if titles and any(text.strip() == "# METADATA" for text in block) else ""


def without_rule(text: str, reason: str) -> str:
    """Return a module's text without the deny rules of one reason and the comments right above them."""
    module = parse("", text)
    comments = {token.line: token.start for token in module.all_tokens if token.kind == "comment"}
    for statement in reversed(module.rules):
        if statement.reason == reason:
            line, start = statement.line, statement.start
            while line - 1 in comments:
                line -= 1
                start = comments[line]
            text = text[:start] + text[statement.end :]
    return text
