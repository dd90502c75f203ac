"""What a file's words and labels mean: the scoring words with the user's own, and how a label gives its key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_soclab.base.errors import quote
from pytest_soclab.known_answer.basis import keys
from pytest_soclab.known_answer.basis.files import decode, read_bytes, refuse
from pytest_soclab.known_answer.basis.verdicts import ACCEPTED, Verdict, is_verdict, one_spaced, read_verdict

MOST_WORDS = 1000
_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The scoring words of a file, the user's own first, and the pattern that takes a key from a label."""

    words: Mapping[str, Verdict | None] = field(default_factory=dict)
    pattern: re.Pattern[str] | None = None

    def knows(self, text: str) -> bool:
        """Tell whether `text`, free of markup, is exactly one scoring word."""
        return bool(self.words and _word(text) in self.words) or is_verdict(text)

    def read(self, text: str) -> Verdict | None:
        """Return the verdict that `text` is; None for `unknown`. Raises KeyError when it is no scoring word."""
        if self.words and (own := _word(text)) in self.words:
            return self.words[own]
        return read_verdict(text)

    @property
    def accepted(self) -> str:
        """The scoring words as a message names them."""
        own = ", ".join(quote(name) for name in list(self.words)[:8])
        return f"{ACCEPTED}; or {own}" if own else ACCEPTED

    def keys(self, label: str) -> tuple[str, ...]:
        """Return the keys of the items that a label names. Raises LabelError where they cannot be told."""
        if self.pattern is None:
            return keys.item_keys(label)
        found = self.pattern.search(keys.folded(label))
        if found is None:
            raise keys.LabelError(f"{quote(label)} does not match --key {self.pattern.pattern}")
        key = found[1] if self.pattern.groups else found[0]
        return (keys.item_key(key or ""),)

    def has_code(self, label: str) -> bool:
        """Tell whether a label starts with an item code."""
        return keys.has_code(label) if self.pattern is None else self._matches(label)

    def has_group(self, label: str) -> bool:
        """Tell whether a label starts with an item's group."""
        return keys.has_group(label) if self.pattern is None else self._matches(label)

    def _matches(self, label: str) -> bool:
        return self.pattern is not None and self.pattern.match(keys.folded(label)) is not None


def _word(text: str) -> str:
    """Return a word as it is compared: in one case, one space, a number in its shortest form."""
    text = one_spaced(text).casefold()
    return format(float(text), "g") if _NUMBER.fullmatch(text) else text


def read_vocabulary(words: str | None, pattern: str | None) -> Vocabulary:
    """Return the vocabulary of `--words` and `--key`. Raises KnownAnswerError on a line or a pattern that is none."""
    return Vocabulary(_words(words) if words else {}, _pattern(pattern) if pattern else None)


def _pattern(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        found = f"{quote(pattern)}, which is no regular expression ({error})"
        refuse(found, field="--key", expected=r"a pattern such as \b([A-Z]+-\d+)\b", remedy="quote it for the shell")


def _words(path: str) -> dict[str, Verdict | None]:
    found: dict[str, Verdict | None] = {}
    for number, line in enumerate(decode(read_bytes(path), path).splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, colon, verdict = line.rpartition(":")
        name = _word(name.strip().strip("\"'"))
        verdict = verdict.strip().strip("\"'")
        if not colon or not is_verdict(verdict):
            refuse(quote(line.strip()), path, number, expected=f"`word: verdict`, the verdict {ACCEPTED}")
        if name in found:
            refuse(f"the word {quote(name)} twice", path, number, expected="every word once")
        found[name] = read_verdict(verdict)
    if not found or len(found) > MOST_WORDS:
        refuse(f"{len(found)} words", path, expected=f"1 to {MOST_WORDS} lines such as `✅: found`")
    return found
