"""The builtins that are proved to answer in the embedded engine as in OPA, with the argument forms that were proved.

A test compares thousands of generated calls with OPA. Every other builtin of OPA is refused at load; so are these where
an argument is of a form that was not proved. Measured on regopy 1.5.2, for example: `lower` and `upper` leave
non-ASCII letters alone, `sort` leaves a set a set, `sprintf("%q")` and `format_int` of a negative number answer
otherwise, `base64.decode` takes what OPA refuses, `concat` walks a set in another order, division rounds otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_soclab.policy.rego_tree import Expr, Scalar
from pytest_soclab.policy.shapes import ANY, BOOLEAN, NUMBER, TEXT, Shape, array, can_equal, is_ordered, must_be, set_of

_ROOTS = """
    abs all and any array assign base64 base64url bits cast_array cast_boolean cast_null cast_object cast_set
    cast_string ceil concat contains count crypto div endswith eq equal floor format_int glob graph graphql gt gte hex
    http indexof indexof_n internal intersection io is_array is_boolean is_null is_number is_object is_set is_string
    json lower lt lte max min minus mul neq net numbers object opa or plus print product providers rand re_match regex
    rego rem replace round semver set set_diff sort split sprintf startswith strings substring sum time to_number
    trace trim trim_left trim_prefix trim_right trim_space trim_suffix type_name union units upper uri urlquery uuid
    walk yaml
"""
BUILTIN_ROOTS = frozenset(_ROOTS.split())
"""The first part of every builtin's name: no name of a policy's own."""

_PATTERN = re.compile(
    r"\^?(?:(?:[A-Za-z0-9_@:/ -]|\\[.+*?()\[\]{}|^$-]|\[(?:[A-Za-z0-9_@. ]|[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9])+-?\])"
    r"(?:[*+?]|\{\d{1,2}(?:,\d{0,2})?\})?)*\$?"
)
"""Patterns that mean the same everywhere: plain characters, escaped signs, classes of ASCII letters and digits, each
with at most one quantifier; no groups, alternatives, dots, negated classes."""
_REPEATS = re.compile(r"(?<!\\)[*+]|\{\d+,\}")
_MAX_REPEATS = 3  # unbounded quantifiers in a pattern


@dataclass(frozen=True, slots=True)
class Builtin:
    """A proved builtin: the kinds that each argument may have (none: any), and the shape of its result."""

    arguments: tuple[tuple[str, ...], ...]
    result: Shape


_TEXT, _ARRAY, _OBJECT = ("string",), ("array",), ("object",)
_TESTS = ("is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string")
PROVED: dict[str, Builtin] = {
    "array.concat": Builtin((_ARRAY, _ARRAY), array(ANY)),
    "concat": Builtin((_TEXT, _ARRAY), TEXT),
    "contains": Builtin((_TEXT, _TEXT), BOOLEAN),
    "count": Builtin((("string", "array", "object", "set"),), NUMBER),
    "endswith": Builtin((_TEXT, _TEXT), BOOLEAN),
    "object.get": Builtin((_OBJECT, (), ()), ANY),
    "object.keys": Builtin((_OBJECT,), set_of(ANY)),
    "regex.match": Builtin((_TEXT, _TEXT), BOOLEAN),
    "set": Builtin((), set_of(None)),
    "split": Builtin((_TEXT, _TEXT), array(TEXT)),
    "startswith": Builtin((_TEXT, _TEXT), BOOLEAN),
    "trim_prefix": Builtin((_TEXT, _TEXT), TEXT),
    "trim_suffix": Builtin((_TEXT, _TEXT), TEXT),
    "type_name": Builtin(((),), TEXT),
    **{name: Builtin(((),), BOOLEAN) for name in _TESTS},
}


def form_fault(name: str, arguments: Sequence[Expr], shapes: Sequence[Shape]) -> str:
    """Return what is not proved about the form of a call's arguments, or an empty text."""
    if not all(map(is_ordered, shapes)) and name != "count":
        return "an array made from a set or an object, whose order differs"
    match name:
        case "regex.match":
            return _pattern_fault(arguments[0])
        case "concat" if not must_be(shapes[1], "array") or not can_equal(shapes[1], array(TEXT)):
            return "what may be a set, or holds what is no text: give it an array of texts"
        case "split" if not _plain(arguments[1]):
            return "a separator that is not a constant text"
        case "object.get" if not _plain(arguments[1]):
            return "a key that is not a constant text"
    return ""


def _plain(argument: Expr) -> bool:
    return isinstance(argument, Scalar) and isinstance(argument.value, str) and argument.value != ""


def _pattern_fault(argument: Expr) -> str:
    if not _plain(argument) or not isinstance(argument, Scalar):
        return "a pattern that is not a constant text"
    pattern = str(argument.value)
    if not _PATTERN.fullmatch(pattern) or len(_REPEATS.findall(pattern)) > _MAX_REPEATS or len(pattern) > 200:
        return "a pattern with more than plain characters, classes of ASCII letters and three unlimited repeats"
    return ""
