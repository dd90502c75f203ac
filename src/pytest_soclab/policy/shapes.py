"""The shapes of values as far as a policy's text tells them, to refuse what OPA's compiler refuses for its types.

A shape is a set of alternatives; no alternative at all (`ANY`) stands for whatever input and data may hold. `ordered`
is false where the items of an array come from a set or an object: their order is not the same in every engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Kind:
    """One alternative: a kind, the shape of its items and keys, and the shapes under constant keys."""

    name: str
    items: Shape | None = None
    keys: Shape | None = None
    fixed: tuple[tuple[str | int, Shape], ...] = ()
    ordered: bool = True

    @property
    def is_empty(self) -> bool:
        """Tell whether it is a collection that never holds anything."""
        return self.name in COLLECTIONS and self.items is None and not self.fixed


Shape: TypeAlias = tuple[Kind, ...]
ANY: Shape = ()
COLLECTIONS = {"array", "object", "set"}
TEXT: Shape = (Kind("string"),)
NUMBER: Shape = (Kind("number"),)
BOOLEAN: Shape = (Kind("boolean"),)


def either(shapes: Iterable[Shape]) -> Shape:
    """Return the shape of a value that has one of several shapes."""
    found: dict[Kind, None] = {}
    for shape in shapes:
        if shape == ANY:
            return ANY
        found.update(dict.fromkeys(shape))
    return tuple(found)


def array(items: Shape | None, *, ordered: bool = True) -> Shape:
    """Return the shape of an array of some items, of none for None."""
    return (Kind("array", items, NUMBER, ordered=ordered),)


def of_constants(kind: str, items: Iterable[tuple[str | int, Shape]]) -> Shape:
    """Return the shape of an array or object whose places or keys are all known."""
    return (Kind(kind, fixed=tuple(items)),)


def set_of(items: Shape | None) -> Shape:
    """Return the shape of a set of some items, of none for None."""
    return (Kind("set", items, items),)


def holds(shape: Shape) -> Shape | None:
    """Return the shape of what a collection of this shape holds, or None where it can hold nothing."""
    if shape == ANY:
        return ANY
    inner = [part for kind in shape for part in (kind.items, *(value for _, value in kind.fixed)) if part is not None]
    return either(inner) if inner else None


def keys(shape: Shape) -> Shape | None:
    """Return the shape of a collection's keys (of a set: its items), or None where there are none."""
    if shape == ANY:
        return ANY
    found: list[Shape] = []
    for kind in shape:
        found += [kind.keys] if kind.keys is not None else []
        found += [TEXT if isinstance(key, str) else NUMBER for key, _ in kind.fixed]
    return either(found) if found else None


def may_be(shape: Shape, *names: str) -> bool:
    """Tell whether a value of this shape can be of one of these kinds."""
    return shape == ANY or any(kind.name in names for kind in shape)


def must_be(shape: Shape, *names: str) -> bool:
    """Tell whether a value of this shape is of one of these kinds whatever happens."""
    return shape != ANY and all(kind.name in names for kind in shape)


def can_equal(left: Shape, right: Shape) -> bool:
    """Tell whether OPA's compiler lets two shapes be compared: whether some value has both."""
    return ANY in (left, right) or any(_kinds_meet(a, b) for a in left for b in right)


def _kinds_meet(left: Kind, right: Kind) -> bool:
    if left.name != right.name:
        return False
    if left.name == "set":
        if left.items is None or right.items is None:
            return left.items != right.items
        return can_equal(left.items, right.items)
    return _constants_meet(left, right) and _constants_meet(right, left) and _items_meet(left.items, right.items)


def _items_meet(left: Shape | None, right: Shape | None) -> bool:
    return left is None or right is None or can_equal(left, right)


def _constants_meet(left: Kind, right: Kind) -> bool:
    known = dict(right.fixed)
    for key, shape in left.fixed:
        other = known.get(key, right.items if left.name == "array" else None)
        if other is not None and not can_equal(shape, other):
            return False
        if other is None and right.items is None and (left.items is None or left.name == "array"):
            return False
    return True


def at_key(shape: Shape, key: str | int) -> Shape | None:
    """Return the shape under a constant key, or None where OPA's compiler finds nothing there."""
    if shape == ANY:
        return ANY
    found = [inner for kind in shape if (inner := _under(kind, key)) is not None]
    return either(found) if found else None


def _under(kind: Kind, key: str | int) -> Shape | None:
    fixed = dict(kind.fixed)
    if key in fixed:
        return fixed[key]
    if kind.name == "array":
        return kind.items if isinstance(key, int) else None
    if kind.name == "set" and kind.items is not None:
        own = TEXT if isinstance(key, str) else NUMBER
        return own if kind.items in (ANY, own) or own[0] in kind.items else None
    return kind.items if kind.name == "object" else None


def is_ordered(shape: Shape) -> bool:
    """Tell whether no array inside depends on the order in which an engine walks a set or an object."""
    parts = [part for kind in shape for part in (kind.items, *(value for _, value in kind.fixed)) if part is not None]
    return all(kind.ordered for kind in shape) and all(map(is_ordered, parts))
