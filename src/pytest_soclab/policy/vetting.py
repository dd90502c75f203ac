"""Refuses what the embedded engine would silently take for *undefined* or read otherwise than OPA does.

OPA's compiler rejects a misspelt name, a wrong number of arguments or an unknown builtin; regopy 1.5.2 answers as if
the condition did not hold. So every name in a policy must be a rule, an import, a variable that its statement binds,
or a builtin that a probe has shown to work here, and every string must stand in the one form that the engine compares.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_soclab.base.errors import Fault, nearest, quote
from pytest_soclab.policy.probes import PROBES
from pytest_soclab.policy.rego_text import Module, Statement, Token

_KEYWORDS = {
    "as", "contains", "data", "default", "else", "every", "false", "if", "import", "in", "input", "not", "null", "some",
    "true", "with",
}  # fmt: skip
_SERVER = "use another builtin, or the server engine (--soclab-opa-url)"

Works = Callable[[str], bool]
"""Tells whether a builtin's probe holds in the engine at hand."""


@dataclass(frozen=True, slots=True)
class _Scope:
    """What is defined: the names of each package's rules, and how many arguments each function takes."""

    names: Mapping[str, set[str]]
    arities: Mapping[str, set[int]]


@dataclass(frozen=True, slots=True)
class _Reference:
    """A name as it stands in a statement: `a.b.c`, and the position after it."""

    path: str
    token: Token
    after: int


def vet(modules: Sequence[Module], works: Works) -> list[Fault]:
    """Return a fault for everything in the modules that the embedded engine would not decide as OPA does."""
    scope = _scope(modules)
    faults: list[Fault] = []
    for module in modules:
        faults += _strings(module)
        for statement in module.rules:
            faults += _names(module, statement, scope, works)
            faults += _everies(module, statement, scope.names[module.package])
    return faults


def _scope(modules: Sequence[Module]) -> _Scope:
    names: dict[str, set[str]] = defaultdict(set)
    arities: dict[str, set[int]] = defaultdict(set)
    for module in modules:
        for statement in module.rules:
            names[module.package].add(statement.name)
            arguments = _head_arguments(statement)
            if arguments is not None:
                arities[f"{module.package}.{statement.name}"].add(_count(arguments))
    return _Scope(names, arities)


def _head_arguments(statement: Statement) -> Sequence[Token] | None:
    """Return the tokens between the brackets of a function's head, or None where the rule is no function."""
    at = 2 if statement.tokens[0].text == "default" else 1
    is_function = len(statement.tokens) > at and statement.tokens[at].text == "(" and statement.tokens[at].glued
    return _between(statement.tokens, at) if is_function else None


def _between(every: Sequence[Token], opening: int) -> Sequence[Token]:
    """Return the tokens inside the bracket that opens at a position."""
    depth = every[opening].depth
    end = next((i for i in range(opening + 1, len(every)) if every[i].depth <= depth), len(every))
    return every[opening + 1 : end]


def _count(arguments: Sequence[Token]) -> int:
    if not arguments:
        return 0
    level = arguments[0].depth
    return 1 + sum(token.text == "," and token.depth == level for token in arguments)


def _strings(module: Module) -> Iterator[Fault]:
    for token in module.all_tokens:
        if token.kind == "raw" and "\\x" in token.text:
            yield Fault(
                f"the escape \\x in the raw string {quote(token.text)}", module.file, token.line,
                remedy=f"its answer would be unreadable: name the characters themselves, or {_SERVER}",
            )  # fmt: skip
        if token.kind == "string" and not _canonical(token.text):
            yield Fault(
                f"the escape in the string {token.text}", module.file, token.line,
                remedy="strings are compared as written: write the character itself",
            )  # fmt: skip


def _canonical(literal: str) -> bool:
    """Tell whether a string stands in the one form in which input and data are handed to the engine."""
    try:
        return json.dumps(json.loads(literal), ensure_ascii=False) == literal
    except ValueError:
        return False


def _everies(module: Module, statement: Statement, own: set[str]) -> Iterator[Fault]:
    """Yield a fault for what regopy 1.5.2 misreads in the body of an `every`.

    A `not` there is taken for true, a `some` for false, and so is iteration by a free index (`xs[i]`).
    """
    known = own | _declared_names(statement) | set(module.imports)
    for at, token in enumerate(statement.tokens):
        if token.text == "every" and token.kind == "name":
            body = _body(statement.tokens, at)
            free = [index for index in _indexes(body) if index.text not in known]
            for inner in [*free, *(t for t in body if t.kind == "name" and t.text in ("not", "some"))]:
                what = f"the free index [{inner.text}]" if inner in free else f"`{inner.text}`"
                yield Fault(
                    f"found {what} inside `every`, which this engine reads otherwise than OPA", module.file, inner.line,
                    remedy="put the condition into a function and call that, or use the server engine",
                )  # fmt: skip


def _body(every: Sequence[Token], at: int) -> Sequence[Token]:
    """Return the tokens of the body of the `every` at a position; a set as its domain is no body."""
    level = every[at].depth
    opening = [i for i in range(at, len(every)) if every[i].text == "{" and every[i].depth == level]
    if opening and every[opening[0] - 1].text == "in":
        opening = opening[1:]
    return _between(every, opening[0]) if opening else ()


def _names(module: Module, statement: Statement, scope: _Scope, works: Works) -> Iterator[Fault]:
    bound = _bound(statement)
    own = scope.names[module.package]
    for reference in _references(statement):
        first = reference.path.partition(".")[0]
        called = _called(statement.tokens, reference.after)
        if called is not None:
            yield from _call(module, reference, _count(called), scope, works)
        elif first not in bound and first not in own and first not in module.imports:
            yield Fault(
                f"the name {first!r} is no rule, import or variable", module.file, reference.token.line,
                remedy=f"it would be undefined without a word; {nearest(first, own | bound)}",
            )  # fmt: skip


def _references(statement: Statement) -> Iterator[_Reference]:
    """Yield every name that a statement uses; a keyword only where it is called (`contains(…)`, `data.a.f(…)`)."""
    every = statement.tokens
    for at, token in enumerate(every):
        if token.kind != "name" or (at and every[at - 1].text == "." and token.glued):
            continue
        path, after = _path(every, at)
        if token.text not in _KEYWORDS or _called(every, after) is not None:
            yield _Reference(path, token, after)


def _path(every: Sequence[Token], at: int) -> tuple[str, int]:
    path, after = every[at].text, at + 1
    while after + 1 < len(every) and every[after].text == "." and every[after + 1].kind == "name":
        path, after = f"{path}.{every[after + 1].text}", after + 2
    return path, after


def _called(every: Sequence[Token], after: int) -> Sequence[Token] | None:
    is_call = after < len(every) and every[after].text == "(" and every[after].glued
    return _between(every, after) if is_call else None


def _call(module: Module, reference: _Reference, given: int, scope: _Scope, works: Works) -> Iterator[Fault]:
    name, token = _resolve(module, reference.path, scope), reference.token
    if name in scope.arities:
        wanted = scope.arities[name]
        if given not in wanted and given - 1 not in wanted:
            expected = " or ".join(map(str, sorted(wanted)))
            yield Fault(
                f"{reference.path} is called with {given} arguments", module.file, token.line, expected=expected
            )
    elif reference.path not in PROBES:
        known = {name.removeprefix(f"{module.package}.") for name in scope.arities} | set(PROBES)
        remedy = f"{nearest(reference.path, known)}; or use the server engine (--soclab-opa-url)"
        yield Fault(f"the builtin {reference.path!r} is not known to work here", module.file, token.line, remedy=remedy)
    elif not works(reference.path):
        found = f"the builtin {reference.path!r} does not work as in OPA in the embedded engine"
        yield Fault(found, module.file, token.line, remedy=_SERVER)


def _resolve(module: Module, path: str, scope: _Scope) -> str:
    """Return the full name of a called function of the policy, such as `soclab.gateway.outside`."""
    first, _, rest = path.partition(".")
    if first in scope.names[module.package]:
        return f"{module.package}.{path}"
    if first in module.imports:
        path = f"{module.imports[first]}.{rest}" if rest else module.imports[first]
    return path.removeprefix("data.")


def _bound(statement: Statement) -> set[str]:
    """Return the names that a statement binds: those it declares, and `[name]` as an index."""
    return _declared_names(statement) | {index.text for index in _indexes(statement.tokens)}


def _declared_names(statement: Statement) -> set[str]:
    """Return the names that a statement binds by a word or sign: arguments, `some`, `every`, `:=`, `=`."""
    bound = {"_"} | {token.text for token in _head_arguments(statement) or () if token.kind == "name"}
    for at, token in enumerate(statement.tokens):
        if token.text in ("some", "every"):
            bound |= _declared(statement.tokens, at)
        elif token.text in (":=", "="):
            bound |= _assigned(statement.tokens, at)
    return bound


def _indexes(every: Sequence[Token]) -> list[Token]:
    """Return the names that stand alone as an index: `i` in `xs[i]`."""
    inside = [_between(every, at) for at, token in enumerate(every) if token.text == "[" and token.glued]
    return [index[0] for index in inside if len(index) == 1 and index[0].kind == "name"]


def _declared(every: Sequence[Token], at: int) -> set[str]:
    names = set()
    for token in every[at + 1 :]:
        if token.text == "in" or token.line != every[at].line:
            break
        names |= {token.text} if token.kind == "name" else set()
    return names


def _assigned(every: Sequence[Token], at: int) -> set[str]:
    """Return the names on the left of an assignment, and on both sides of a unification, within its line."""
    left = [t for t in every[:at] if t.line == every[at].line and t.depth <= every[at].depth + 1]
    start = next((i for i in range(len(left) - 1, -1, -1) if left[i].text in ("{", ";", "|", "if", "not", "some")), -1)
    names = {t.text for t in left[start + 1 :] if t.kind == "name"}
    if every[at].text == "=" and at + 1 < len(every) and every[at + 1].kind == "name":
        names.add(every[at + 1].text)
    return names
