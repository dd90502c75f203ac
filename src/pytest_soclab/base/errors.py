"""The error tree: every error of ours carries a place, what was found and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

_SHOWN = 120  # characters of foreign text that a message quotes


def printable(text: str) -> str:
    """Return `text` with every character that could steer a terminal or reorder a line written as an escape."""
    if text.isprintable():  # which no reordering character is (they are of category Cf)
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def quote(value: object) -> str:
    """Return foreign text as one short quoted line that is safe to print."""
    text = value if isinstance(value, str) else repr(value)
    shown = printable(text[:_SHOWN])
    mark = '"' if "'" in shown else "'"
    return f"{mark}{shown}{mark}" if len(text) <= _SHOWN else f"{mark}{shown}{mark}… ({len(text)} characters)"


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return the remedy for an unknown name: the nearest valid one first, then the whole list."""
    names = sorted(set(valid))
    if not names:
        return "no name is valid here"
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}valid: {', '.join(names)}"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong, with its place: `file:line:column field: found …, expected …; remedy`."""

    found: str
    path: str = ""
    line: int = 0
    column: int = 0
    field: str = ""
    expected: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        place = self.path
        if self.line:
            place += f":{self.line}"
        if self.line and self.column:
            place += f":{self.column}"
        head = " ".join(part for part in (place, self.field) if part)
        text = self.found + (f", expected {self.expected}" if self.expected else "")
        text += f"; {self.remedy}" if self.remedy else ""
        return printable(f"{head}: {text}" if head else text)


class SoclabError(Exception):
    """The base of every error that the project raises on purpose; it holds one fault or several."""

    def __init__(self, *faults: Fault | str) -> None:
        found = faults or ("failed without a reason",)  # an error without a fault would be listed nowhere
        self.faults: Sequence[Fault] = tuple(f if isinstance(f, Fault) else Fault(f) for f in found)
        super().__init__(*self.faults)

    def __str__(self) -> str:
        return "\n".join(str(fault) for fault in self.faults)


class UsageError(SoclabError):
    """The command line, the ini file or the surroundings are wrong; nothing was run."""


class ScenarioError(SoclabError):
    """A scenario or incident file cannot be read; all its faults at once."""


class PolicyError(SoclabError):
    """A policy is missing, does not compile, or uses what the engine lacks."""


class PolicyUnavailable(SoclabError):  # noqa: N818  # it is an outcome of a decision, named as the transcript names it
    """The policy engine gave no answer, a late one or an unreadable one; the gateway denies."""


class KnownAnswerError(SoclabError):
    """Scored runs cannot be read or compared."""


class ArtifactError(SoclabError):
    """Results cannot be written or read back."""
