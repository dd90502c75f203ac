"""A reader of YAML 1.2 after its core schema, on ruamel's fast scanner (of libyaml) or its exact one (in Python).

The fast one refuses some texts of YAML 1.2; the exact one, and ruamel's rules for plain texts, are mended here where
they keep rules of YAML 1.1 or differ from the fast one.
"""

from __future__ import annotations

import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import ConstructorError, SafeConstructor
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.scanner import Scanner

HAS_FAST = YAML(typ="safe").Parser is not YAML(typ="safe", pure=True).Parser
"""Whether ruamel's C scanner is installed."""
READ_OTHERWISE = re.compile(
    r"\t|[|>][-+0-9]*#|^(?:---|\.\.\.)|^\s*:"
    r"|(?:^|[,\[{]|[-?:](?=\s)|[\"']:|[&*][\w-]*)\s*(?:!|[&*][\w-]*[^\w\s-])",  # where a value can begin
    re.MULTILINE,
)
"""Where the scanners differ: tabs, a comment that touches a mark, ends of documents, tags, anchors, a leading colon."""
_TAG = "tag:yaml.org,2002:"
_LONGEST_NUMBER = 40
"""Digits. Far beyond what JSON holds; Python refuses to show numbers of thousands of digits."""

_CORE = (  # YAML 1.2.2, section 10.3.2; the merge key is of no version, and known to its users
    ("null", "null|Null|NULL|~|", ("n", "N", "~", "")),
    ("bool", "true|True|TRUE|false|False|FALSE", ("t", "T", "f", "F")),
    ("int", "[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", tuple("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        tuple("-+.0123456789"),
    ),
    ("merge", "<<", ("<",)),
)


def _rules() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    """Return, by first character, the tags that a plain text may have, each with its pattern."""
    rules: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for name, pattern, firsts in _CORE:
        for first in firsts:
            rules.setdefault(first, []).append((_TAG + name, re.compile(rf"(?:{pattern})\Z")))
    return rules


class _Resolver(VersionedResolver):
    """Tells by the core schema what a plain text is."""

    versioned_resolver = _rules()


class _Plain(SafeConstructor):
    """Keeps the merge mark as text where it is a value, and refuses numbers that nobody can show."""

    def construct_yaml_int(self, node: Any) -> int:
        if len(node.value) > _LONGEST_NUMBER:
            raise ConstructorError(None, None, "found a number with too many digits", node.start_mark)
        return int(super().construct_yaml_int(node))


_Plain.add_constructor(f"{_TAG}int", _Plain.construct_yaml_int)
_Plain.add_constructor(f"{_TAG}merge", SafeConstructor.construct_yaml_str)


class _TabScanner(Scanner):
    """Takes a tab between two parts of a line for white space, as YAML has it and the fast scanner does."""

    def scan_to_next_token(self) -> None:
        super().scan_to_next_token()
        while self.reader.peek() == "\t" and not self.allow_simple_key:
            while self.reader.peek() in "\t ":
                self.reader.forward()
            super().scan_to_next_token()

    def scan_plain_spaces(self, indent: int, start_mark: Any) -> list[str]:
        """Return the white space after a word of a plain text, tabs within a line too."""
        spaces: list[str] = super().scan_plain_spaces(indent, start_mark) or []
        length = 0
        while not self.allow_simple_key and self.reader.peek(length) in "\t ":
            length += 1
        tabbed = self.reader.prefix(length)
        self.reader.forward(length)
        ended = length and self.reader.peek() in "\r\n"
        return self.scan_plain_spaces(indent, start_mark) if ended else [*spaces, tabbed] if tabbed else spaces


class _Yaml(YAML):
    """A safe reader without plug-ins, which ruamel looks for on the disk each time."""

    def official_plug_ins(self) -> list[str]:
        return []


def reader(*, fast: bool) -> YAML:
    """Return a reader of one text; `fast` asks for the C scanner where it is installed."""
    yaml = _Yaml(typ="safe", pure=not fast)
    yaml.Constructor = _Plain
    yaml.Resolver = _Resolver
    if not (fast and HAS_FAST):
        yaml.Scanner = _TabScanner
    return yaml
