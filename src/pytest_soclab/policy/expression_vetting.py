"""Finds the shape of every expression of a policy, and every fault on the way there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from pytest_soclab.base.errors import Fault, nearest
from pytest_soclab.policy.program import Group, Program
from pytest_soclab.policy.proved import BUILTIN_ROOTS, PROVED, form_fault
from pytest_soclab.policy.rego_stream import REMEDY
from pytest_soclab.policy.rego_tree import Binary, Call, Collection, Comprehension, Expr, Node, Ref, Scalar, Table, walk
from pytest_soclab.policy.scope import Scope
from pytest_soclab.policy.shapes import (
    ANY,
    BOOLEAN,
    COLLECTIONS,
    NUMBER,
    TEXT,
    Kind,
    Shape,
    at_key,
    can_equal,
    either,
    holds,
    is_ordered,
    keys,
    may_be,
    must_be,
    of_constants,
    set_of,
)

_ORDER = "an array made from a set or an object, whose order differs between engines"
_SETS = "compare sets instead: `{x | …}`"
_MAX_ARITHMETIC = 8  # signs + and - in a policy: with numbers up to 2^53 no result leaves 64 bits


class ExpressionVetter(ABC):
    """Reads expressions. `faults` collects; after a fault the shape is `ANY`, so that one cause is told once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.faults: list[Fault] = []
        self.arithmetic: set[tuple[str, int]] = set()
        self.set_differences: set[tuple[str, int]] = set()

    @abstractmethod
    def result_of(self, group: Group) -> Shape:
        """Return the shape of a group's value, vetting its rules first where that was not done."""

    @abstractmethod
    def asked_of(self, group: Group) -> Sequence[Sequence[Shape]]:
        """Return what each definition of a function asks of its arguments."""

    @abstractmethod
    def comprehension(self, node: Comprehension, scope: Scope) -> Shape:
        """Return the shape of a comprehension."""

    def fault(self, scope: Scope, node: Node, found: str, remedy: str = REMEDY, expected: str = "") -> Shape:
        """Note a fault at a node and return the shape of what nothing is known about."""
        self.faults.append(Fault(found, scope.tree.file, node.at.line, remedy=remedy, expected=expected))
        return ANY

    def shape(self, node: Expr, scope: Scope) -> Shape:
        """Return the shape of an expression's value."""
        match node:
            case Scalar():
                found = _scalar(node)
            case Ref():
                found = self._reference(node, scope)
            case Call():
                found = self._call(node, scope)
            case Collection():
                found = self._collection(node, scope)
            case Table():
                found = of_constants("object", [(str(k.value), self.shape(v, scope)) for k, v in node.pairs])
            case Comprehension():
                found = self.comprehension(node, scope)
            case Binary():
                found = self._binary(node, scope)
        return found

    def _collection(self, node: Collection, scope: Scope) -> Shape:
        shapes = [self.shape(item, scope) for item in node.items]
        if node.kind == "array":
            return of_constants("array", enumerate(shapes))
        if not all(map(is_ordered, shapes)):
            return self.fault(scope, node, f"the set holds {_ORDER}", _SETS)
        return set_of(either(shapes))

    def narrow(self, node: Expr, wanted: Shape, scope: Scope) -> None:
        """Note what a statement asks of a parameter, and refuse a parameter in a literal of which nothing is known."""
        if isinstance(node, Ref) and not node.steps:
            if not scope.narrow(node.name, wanted):
                self.fault(scope, node, f"{node.name!r} is taken for values that are never equal", "OPA refuses it")
        elif isinstance(node, Collection | Table):
            inside = [item for item in walk(node) if isinstance(item, Ref) and not item.steps]
            bare = next((item for item in inside if scope.narrowed.get(item.name) == ANY), None)
            if bare is not None:
                found = f"the parameter {bare.name!r} stands in a literal that is compared or handed on"
                self.fault(scope, node, found)

    # ---- references

    def _reference(self, node: Ref, scope: Scope) -> Shape:
        if node.name == "input":
            return self._steps(node, ANY, node.steps, scope)
        if node.name in scope.names:
            return self._variable(node, scope)
        if node.name == "data":
            return self._below_data(node, [], scope)
        if node.name in scope.tree.imports:
            return self._below_data(node, scope.tree.imports[node.name].split(".")[1:], scope)
        group = self.program.groups.get(f"{scope.tree.package}.{node.name}")
        if group is not None:
            return self._rule(node, group, node.steps, scope)
        visible = {*scope.names, *self.program.own(scope.tree), *scope.tree.imports}
        remedy = f"it would be undefined without a word; {nearest(node.name, visible)}"
        return self.fault(scope, node, f"the name {node.name!r} is no rule, import or variable", remedy)

    def _variable(self, node: Ref, scope: Scope) -> Shape:
        scope.used.add(node.name)
        if node.name in scope.closed:
            found = f"an `every` inside another one uses {node.name!r} of outside, which this engine does not see"
            return self.fault(scope, node, found, "put the inner `every` into a function and call that")
        return self._steps(node, scope.names[node.name], node.steps, scope)

    def _below_data(self, node: Ref, path: list[str], scope: Scope) -> Shape:
        """Return what a path below data leads to: a rule, or the data document."""
        base = len(path)
        for step in node.steps:
            if not isinstance(step, Scalar) or not isinstance(step.value, str):
                break
            path = [*path, step.value]
        found = self.program.group_at(path)
        if found is not None and found[1] >= base:
            return self._rule(node, found[0], node.steps[found[1] - base :], scope)
        if not path or found is not None or self.program.touches_package(path):
            what = "data." + ".".join(path) if path else "data"
            return self.fault(scope, node, f"{what} is a package or above one, or no rule of it", "name one rule")
        return self._steps(node, ANY, node.steps[len(path) - base :], scope)

    def _rule(self, node: Ref, group: Group, steps: Sequence[Expr], scope: Scope) -> Shape:
        if group.kind == "function":
            return self.fault(scope, node, f"the function {group.path} is used without arguments", "call it")
        return self._steps(node, self.result_of(group), steps, scope)

    def _steps(self, node: Ref, shape: Shape, steps: Sequence[Expr], scope: Scope) -> Shape:
        for step in steps:
            if not may_be(shape, *COLLECTIONS):
                return self.fault(scope, node, f"a {shape[0].name} has nothing inside", "OPA refuses it")
            if not is_ordered(shape):
                return self.fault(scope, node, f"found an index into {_ORDER}", _SETS)
            inner = self._at(step, shape, scope)
            if inner is None:
                return self.fault(scope, node, "an index leads to what is never there", "OPA refuses it")
            shape = inner
        return shape

    def _at(self, step: Expr, shape: Shape, scope: Scope) -> Shape | None:
        if isinstance(step, Scalar) and isinstance(step.value, str | int):
            return at_key(shape, step.value)
        index, known = self.shape(step, scope), keys(shape)
        if known is None or not can_equal(index, known):
            return None
        return known if must_be(shape, "set") else holds(shape)

    # ---- calls

    def _call(self, node: Call, scope: Scope) -> Shape:
        shapes = [self.shape(argument, scope) for argument in node.arguments]
        group = self._function(node.path.split("."), scope)
        if group is not None:
            return self._own_call(node, group, shapes, scope)
        builtin = PROVED.get(node.path)
        if builtin is None:
            return self._unknown(node, scope)
        if len(shapes) != len(builtin.arguments):
            return self._arity(node, len(builtin.arguments), scope)
        for number, (shape, wanted) in enumerate(zip(shapes, builtin.arguments, strict=True), start=1):
            if wanted and not may_be(shape, *wanted):
                found = f"argument {number} of {node.path} is a {shape[0].name}"
                return self.fault(scope, node, found, "OPA refuses it", " or ".join(wanted))
        for argument, wanted in zip(node.arguments, builtin.arguments, strict=True):
            self.narrow(argument, tuple(Kind(name, ANY, ANY) for name in wanted), scope)
        found = form_fault(node.path, node.arguments, shapes)
        return self.fault(scope, node, f"{node.path} is given {found}") if found else builtin.result

    def _function(self, path: list[str], scope: Scope) -> Group | None:
        if path[0] in scope.names:
            return None
        if path[0] == "data":
            full = path[1:]
        elif path[0] in scope.tree.imports:
            full = [*scope.tree.imports[path[0]].split(".")[1:], *path[1:]]
        else:
            full = [*scope.tree.package.split("."), *path]
        return self.program.groups.get(".".join(full))

    def _own_call(self, node: Call, group: Group, shapes: Sequence[Shape], scope: Scope) -> Shape:
        if group.kind != "function":
            return self.fault(scope, node, f"{node.path} is no function", "use it without arguments")
        if len(shapes) != group.arity:
            return self._arity(node, group.arity, scope)
        if not all(map(is_ordered, shapes)):
            return self.fault(scope, node, f"{node.path} is given {_ORDER}", _SETS)
        result = self.result_of(group)
        for wanted in self.asked_of(group):
            for argument, shape, kind in zip(node.arguments, shapes, wanted, strict=True):
                if not can_equal(shape, kind):
                    self.fault(scope, node, f"an argument of {node.path} never has the kind that its body needs")
                self.narrow(argument, kind, scope)
        return result

    def _arity(self, node: Call, wanted: int, scope: Scope) -> Shape:
        return self.fault(scope, node, f"{node.path} is called with {len(node.arguments)} arguments",
                          "OPA refuses it", str(wanted))  # fmt: skip

    def _unknown(self, node: Call, scope: Scope) -> Shape:
        if node.path.partition(".")[0] in BUILTIN_ROOTS and node.path not in scope.names:
            return self.fault(scope, node, f"the builtin {node.path!r} is not proved to answer here as in OPA")
        own = {
            path.removeprefix(f"{scope.tree.package}.")
            for path, g in self.program.groups.items()
            if g.kind == "function"
        }
        remedy = f"{nearest(node.path, own | set(PROVED))}; or let OPA itself decide (--soclab-opa-binary)"
        return self.fault(scope, node, f"{node.path!r} is no function and no builtin", remedy)

    # ---- operators

    def _binary(self, node: Binary, scope: Scope) -> Shape:
        left, right = self.shape(node.left, scope), self.shape(node.right, scope)
        if not is_ordered(left) or (node.sign != "in" and not is_ordered(right)):
            return self.fault(scope, node, f"{node.sign!r} is given {_ORDER}", _SETS)
        self._narrow_sides(node, left, right, scope)
        match node.sign:
            case "==" | "!=":
                found = self._equality(node, left, right, scope)
            case "in":
                found = self._member(node, left, right, scope)
            case "<" | "<=" | ">" | ">=":
                found = self._ordering(node, left, right, scope)
            case "|" | "&":
                found = self._sets(node, left, right, scope)
            case _:
                found = self._plus_minus(node, left, right, scope)
        return found

    def _equality(self, node: Binary, left: Shape, right: Shape, scope: Scope) -> Shape:
        if node.sign == "==" and not can_equal(left, right):
            return self.fault(scope, node, "the two sides can never be equal", "OPA refuses it")
        return BOOLEAN

    def _narrow_sides(self, node: Binary, left: Shape, right: Shape, scope: Scope) -> None:
        match node.sign:
            case "==":
                wanted = (right, left)
            case "in":
                wanted = (holds(right) or ANY, ANY)
            case "+":
                wanted = (NUMBER, NUMBER)
            case "-":
                wanted = ((*NUMBER, *set_of(ANY)), (*NUMBER, *set_of(ANY)))
            case "|" | "&":
                wanted = (set_of(ANY), set_of(ANY))
            case _:
                return
        self.narrow(node.left, wanted[0], scope)
        self.narrow(node.right, wanted[1], scope)

    def _member(self, node: Binary, left: Shape, right: Shape, scope: Scope) -> Shape:
        inside = holds(right)
        if not may_be(right, *COLLECTIONS) or (inside is not None and not can_equal(left, inside)):
            return self.fault(scope, node, "the right side of `in` never holds the left one", "OPA refuses it")
        return BOOLEAN

    def _ordering(self, node: Binary, left: Shape, right: Shape, scope: Scope) -> Shape:
        if not may_be(left, "number") or not may_be(right, "number"):
            found = f"{node.sign!r} compares something else than numbers, whose order is not proved to be that of OPA"
            return self.fault(scope, node, found)
        return BOOLEAN

    def _sets(self, node: Binary, left: Shape, right: Shape, scope: Scope) -> Shape:
        if not may_be(left, "set") or not may_be(right, "set"):
            return self.fault(scope, node, f"{node.sign!r} is given something else than sets", "OPA refuses it")
        return set_of(_joined(left, right) if node.sign == "|" else ANY)

    def _plus_minus(self, node: Binary, left: Shape, right: Shape, scope: Scope) -> Shape:
        if node.sign == "-" and (must_be(left, "set") or must_be(right, "set")):
            return self._difference(node, left, right, scope)
        if not may_be(left, "number") or not may_be(right, "number"):
            return self.fault(scope, node, f"{node.sign!r} is given something else than numbers", "OPA refuses it")
        self.arithmetic.add((scope.tree.file, node.at.start))
        if len(self.arithmetic) > _MAX_ARITHMETIC:
            return self.fault(scope, node, f"found more than {_MAX_ARITHMETIC} signs + and - in one policy")
        if node.sign == "-" and not must_be(left, "number") and not must_be(right, "number"):
            return self.fault(
                scope, node, "found '-' where both sides may be numbers or sets", "name a number or a set"
            )
        return NUMBER

    def _difference(self, node: Binary, left: Shape, right: Shape, scope: Scope) -> Shape:
        if not may_be(left, "set") or not may_be(right, "set"):
            return self.fault(scope, node, "a set and something else are subtracted", "OPA refuses it")
        self.set_differences.add((scope.tree.file, node.at.start))
        return left if must_be(left, "set") else set_of(ANY)


def _scalar(node: Scalar) -> Shape:
    match node.value:
        case bool():
            return BOOLEAN
        case str():
            return TEXT
        case None:
            return (Kind("null"),)
    return NUMBER


def _joined(left: Shape, right: Shape) -> Shape | None:
    parts = [part for part in (holds(left), holds(right)) if part is not None]
    return either(parts) if parts else None
