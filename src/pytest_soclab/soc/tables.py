"""The declared tables of a world: their key, their fields, and how a row of a file becomes a row of the world."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_soclab.base.clock import rfc3339
from pytest_soclab.base.errors import nearest, quote
from pytest_soclab.soc.times import EXPECTED as A_TIME
from pytest_soclab.soc.times import is_moment, moment_of
from pytest_soclab.soc.world import Row

INCIDENT = "incident"
"""The field by which a row says that it belongs to another incident than the world's own."""


class TableFault(NamedTuple):
    """One thing that is wrong in a mapping of tables; `path` leads to it from the mapping."""

    path: tuple[str | int, ...]
    found: str
    expected: str
    remedy: str


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set; it keeps a declared list of names readable."""
    return frozenset(text.split())


_SCALARS = frozenset({str, int, float, bool, type(None)})


def plain(value: Any) -> Any:
    """Return a copy of JSON-like data that shares nothing mutable with it."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its name (`identity.accounts`), the field that is its key, and its fields by what they hold.

    A row may leave out every field but the key; `defaults` then stand in, so that a tool finds each of them. `times`
    are written as offsets and kept as RFC 3339.
    """

    name: str
    key: str
    texts: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    maps: frozenset[str] = frozenset()
    times: frozenset[str] = frozenset()
    defaults: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    expand: Callable[[Mapping[str, Any], int], Row] | None = None
    """Makes the row of the world where the plain rule does not do (events)."""
    required: frozenset[str] = frozenset()
    choices: Mapping[str, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    """The values of the fields that take only some."""
    open_fields: bool = False
    """Whether any dotted field name is legitimate (events: every OCSF name)."""

    def row(self, source: Mapping[str, Any], start: int) -> Row:
        """Return the row of the world for a row of a file; its times are relative to `start`."""
        if self.expand is not None:
            return self.expand(source, start)
        row: dict[str, Any] = plain(self.defaults) | plain(source)
        for name in self.times & row.keys():
            row[name] = rfc3339(moment_of(row[name], start))
        for name in self.lists & row.keys():
            row[name] = [row[name]] if isinstance(row[name], str) else row[name]
        return row

    def faults(self, row: object) -> Iterator[TableFault]:
        """Yield what is wrong with a row of a file, each fault with its path inside the row."""
        if not isinstance(row, Mapping):
            yield TableFault((), f"found {quote(row)}", "a mapping", f"write {{{self.key}: …}}")
            return
        for name in sorted((self.required | {self.key}) - row.keys()):
            what = "a row without its key" if name == self.key else f"a row without {name!r}"
            yield TableFault((), what, f"the field {name!r}", f"add {name}: …")
        for name, value in row.items():
            yield from self._field_faults(str(name), value)

    def _field_faults(self, name: str, value: object) -> Iterator[TableFault]:
        expected, holds = self._kind_of(name)
        if holds is None:
            yield TableFault(
                (name,), f"unknown field {quote(name)}", f"a field of {self.name}", nearest(name, self._names)
            )
        elif not holds(value):
            yield TableFault((name,), f"found {quote(value)}", expected, f"correct {name}")
        elif name in self.choices and value not in self.choices[name]:
            yield TableFault((name,), f"found {quote(value)}", f"a {name}", nearest(str(value), self.choices[name]))

    def _kind_of(self, name: str) -> tuple[str, Callable[[object], bool] | None]:
        if name in (self.key, INCIDENT):
            return "a text that is not empty", _is_name
        for names, expected, holds in self._kinds:
            if name in names:
                return expected, holds
        if self.open_fields and "." in name:
            return "a scalar or a list of scalars", _is_flat
        return "", None

    @property
    def _kinds(self) -> tuple[tuple[frozenset[str], str, Callable[[object], bool]], ...]:
        return (
            (self.texts, "a text", _is_text),
            (self.numbers, "a number", _is_number),
            (self.flags, "true or false", _is_flag),
            (self.lists, "a text or a list of texts", _is_texts),
            (self.maps, "a mapping of texts", _is_map),
            (self.times, A_TIME, is_moment),
        )

    @property
    def _names(self) -> set[str]:
        return {self.key, INCIDENT}.union(*(names for names, _, _ in self._kinds))


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_texts(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list | tuple) and all(isinstance(i, str) for i in value))


def _is_map(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(inner, str | int | float) for inner in value.values())


def _is_flat(value: object) -> bool:
    items = value if isinstance(value, list | tuple) else [value]
    return all(isinstance(item, str | int | float) for item in items)
