"""Refuses what the embedded engine is not proved to decide as OPA does.

OPA's compiler rejects a misspelt name, a wrong number of arguments, values that can never be equal, an unknown builtin;
regopy 1.5.2 answers as if the condition did not hold, or ends the process. So everything in a policy is accounted for:
every name is a rule, an import or a variable that an earlier statement binds, every value has a shape that OPA's
compiler accepts, every builtin is one of `proved` with arguments of a proved form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_soclab.base.errors import Fault
from pytest_soclab.policy.expression_vetting import ExpressionVetter
from pytest_soclab.policy.program import RESERVED, Group, Program, head_faults, program_of
from pytest_soclab.policy.proved import BUILTIN_ROOTS
from pytest_soclab.policy.rego_tree import (
    Assign,
    Binary,
    Branch,
    Comprehension,
    Every,
    Expr,
    Holds,
    Literal,
    Node,
    Not,
    Ref,
    Scalar,
    Some,
    Tree,
    TreeRule,
    walk,
)
from pytest_soclab.policy.scope import Scope
from pytest_soclab.policy.shapes import (
    ANY,
    BOOLEAN,
    COLLECTIONS,
    Kind,
    Shape,
    array,
    either,
    holds,
    is_ordered,
    keys,
    may_be,
    must_be,
    set_of,
)

_JOINING = {"|", "&", "+", "-"}
_FUNCTION = "put the condition into a function and call that"


@dataclass(frozen=True, slots=True)
class Vetted:
    """The faults found, whether the policy adds or subtracts numbers (then none may have a fraction), and which `-`
    stand between sets, by file and offset."""

    faults: Sequence[Fault]
    calculates: bool = False
    set_differences: frozenset[tuple[str, int]] = frozenset()


def vet(trees: Sequence[Tree], data: Mapping[str, Any]) -> Vetted:
    """Find a fault for everything in the modules that is not proved to be decided as by OPA."""
    program = program_of(trees)
    faults = list(head_faults(program, trees, data))
    if faults:
        return Vetted(faults)
    vetter = _Vetter(program)
    return Vetted(vetter.vet(), bool(vetter.arithmetic), frozenset(vetter.set_differences))


class _Vetter(ExpressionVetter):
    """Vets the rules of a program, each group once, those first that others need."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._results: dict[str, Shape] = {}
        self._asked: list[str] = []
        self._asked_of: dict[str, list[Sequence[Shape]]] = {}

    def vet(self) -> list[Fault]:
        """Return every fault, in the order of the files and lines."""
        for group in self.program.groups.values():
            self.result_of(group)
        return sorted(dict.fromkeys(self.faults), key=lambda fault: (fault.path, fault.line))

    def result_of(self, group: Group) -> Shape:
        """Return the shape of a group's value; a rule that depends on itself is a fault."""
        if group.path in self._asked:
            tree, rule = group.members[0]
            found = f"{rule.name} depends on itself"
            self.faults.append(Fault(found, tree.file, rule.at.line, remedy="OPA refuses it: break the ring"))
            return ANY
        if group.path not in self._results:
            self._asked.append(group.path)
            self._results[group.path] = self._result(group)
            self._asked.pop()
        return self._results[group.path]

    def _result(self, group: Group) -> Shape:
        shapes = [self._branch(group, tree, rule, branch) for tree, rule in group.members for branch in rule.branches]
        return set_of(either(shapes)) if group.kind == "set" else either(shapes)

    def asked_of(self, group: Group) -> Sequence[Sequence[Shape]]:
        """Return what each definition of a function asks of its arguments."""
        return self._asked_of.get(group.path, ())

    def _branch(self, group: Group, tree: Tree, rule: TreeRule, branch: Branch) -> Shape:
        narrowed = dict.fromkeys((name for name in rule.parameters if name != "_"), ANY)
        if narrowed:
            self._read(tree, rule, branch, narrowed)
            asked = [narrowed.get(name, ANY) for name in rule.parameters]
            self._asked_of.setdefault(group.path, []).append(asked)
        return self._read(tree, rule, branch, narrowed)

    def _read(self, tree: Tree, rule: TreeRule, branch: Branch, narrowed: dict[str, Shape]) -> Shape:
        """Read one branch of a rule and return the shape of its value."""
        scope = Scope(tree, narrowed=narrowed)
        for parameter in rule.parameters:
            self._declare(rule, parameter, narrowed.get(parameter, ANY), scope, must_use=False)
        self._body(branch.body, scope)
        value = BOOLEAN if branch.value is None else self.shape(branch.value, scope)
        if rule.kind == "set" and branch.value is not None and not is_ordered(value):
            self.fault(scope, branch.value, "an array made from a set is put into a set", "use sets alone")
        self._unused(rule, scope)
        return value

    # ---- bodies

    def _body(self, body: Sequence[Literal], scope: Scope) -> None:
        for literal in body:
            self._literal(literal, scope)

    def _literal(self, literal: Literal, scope: Scope) -> None:
        match literal:
            case Some():
                self._some(literal, scope)
            case Every():
                self._every(literal, scope)
            case Not():
                self._not(literal, scope)
            case Assign():
                shape = self.shape(literal.value, scope)
                self._declare(literal, literal.name, shape, scope, must_use=True)
            case Holds():
                self._condition(literal.inner, scope)

    def _some(self, literal: Some, scope: Scope) -> None:
        if scope.in_every:
            self._misread(literal, "`some`", scope)
        self._domain(literal, self._walked(literal, scope), scope)

    def _misread(self, literal: Node, what: str, scope: Scope) -> None:
        self.fault(
            scope, literal, f"found {what} inside `every`, which this engine reads otherwise than OPA", _FUNCTION
        )

    def _walked(self, literal: Some | Every, scope: Scope) -> Shape:
        """Return the shape of a domain."""
        shape = self.shape(literal.domain, scope)
        if not may_be(shape, *COLLECTIONS):
            self.fault(scope, literal, f"a {shape[0].name} has nothing inside", "OPA refuses it")
        if len(literal.names) == 2 and not is_ordered(shape):
            self.fault(scope, literal, "found places of an array made from a set", "use sets alone")
        return shape

    def _domain(self, literal: Some | Every, shape: Shape, scope: Scope) -> None:
        """Declare the names that walk a domain."""
        if len(literal.names) == 2:
            self._declare(literal, literal.names[0], _or_any(keys(shape)), scope, must_use=True)
        self._declare(literal, literal.names[-1], _or_any(holds(shape)), scope, must_use=True)

    def _every(self, literal: Every, scope: Scope) -> None:
        inner = scope.of_every()
        self._domain(literal, self._walked(literal, scope), inner)
        self._body(literal.body, inner)

    def _not(self, literal: Not, scope: Scope) -> None:
        if scope.in_every:
            self._misread(literal, "`not`", scope)
        if not any(isinstance(node, Ref) for node in walk(literal.inner)):
            self.fault(scope, literal, "a constant stands under `not`", "take it out")
        self._condition(literal.inner, scope)

    def _condition(self, node: Expr, scope: Scope) -> None:
        self.shape(node, scope)
        if isinstance(node, Scalar) and node.value is not True:
            self.fault(scope, node, "a constant stands as a condition", "take it out")
        if isinstance(node, Binary) and node.sign in _JOINING:
            self.fault(scope, node, f"a value made with {node.sign!r} stands as a condition", "compare it")

    def comprehension(self, node: Comprehension, scope: Scope) -> Shape:
        """Return the shape of a comprehension."""
        if scope.in_every:
            self._misread(node, "a comprehension", scope)
        inner = scope.inner()
        self._body(node.body, inner)
        value = self.shape(node.value, inner)
        if node.key is not None:
            return self._object(node, value, inner)
        if node.kind == "array":
            return array(value, ordered=self._walks_arrays(node.body, inner))
        if not is_ordered(value):
            self.fault(scope, node, "an array made from a set is put into a set", "use sets alone")
        return set_of(value)

    def _object(self, node: Comprehension, value: Shape, inner: Scope) -> Shape:
        key = ANY if node.key is None else self.shape(node.key, inner)
        if not may_be(key, "string"):
            self.fault(inner, node, "found keys of an object that are no texts")
        return (Kind("object", value, key),)

    def _walks_arrays(self, body: Sequence[Literal], inner: Scope) -> bool:
        """Tell whether every domain of a body is an array for certain, so that the order is the same everywhere."""
        domains = [literal.domain for literal in body if isinstance(literal, Some)]
        return all(must_be(shape, "array") and is_ordered(shape) for shape in (self.shape(d, inner) for d in domains))

    # ---- names

    def _declare(self, node: Node | TreeRule, name: str, shape: Shape, scope: Scope, *, must_use: bool) -> None:
        if name == "_":
            return
        taken = self._taken(name, scope)
        if taken:
            line = node.at.line
            remedy = "OPA would read it otherwise or refuse it: give the variable another name"
            self.faults.append(
                Fault(f"the variable {name!r} has the name of {taken}", scope.tree.file, line, remedy=remedy)
            )
        scope.names[name] = shape
        scope.ever[name] = max(scope.level, scope.ever.get(name, 0))
        if not must_use:
            scope.used.add(name)

    def _taken(self, name: str, scope: Scope) -> str:
        if name in scope.names:
            return "another variable"
        if scope.ever.get(name, 0) > scope.level:
            return "a variable of a body above"
        if name in self.program.own(scope.tree):
            return "a rule"
        if name in scope.tree.imports:
            return "an import"
        return "a builtin" if name in BUILTIN_ROOTS or name.startswith(RESERVED) else ""

    def _unused(self, rule: TreeRule, scope: Scope) -> None:
        for name in sorted(scope.ever.keys() - scope.used):
            found = f"the variable {name!r} is never used"
            self.faults.append(
                Fault(found, scope.tree.file, rule.at.line, remedy="take it out, or correct the name that means it")
            )


def _or_any(shape: Shape | None) -> Shape:
    return ANY if shape is None else shape
