"""The names that a statement of a rule can see, and what is known about the values behind them."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_soclab.policy.rego_tree import Tree
from pytest_soclab.policy.shapes import ANY, Shape, can_equal


@dataclass(slots=True)
class Scope:
    """Variables by name. A body in a body sees the outer one's; what it declares is gone with it.

    `ever` (with the deepest level of each) and `used` are those of the whole rule. `narrowed` holds, for a function's
    parameters, the shapes that the body asks of them, as OPA's compiler infers them. `closed` holds the variables that
    regopy does not see here: those of outside in the body of an `every` inside another one.
    """

    tree: Tree
    names: dict[str, Shape] = field(default_factory=dict)
    narrowed: dict[str, Shape] = field(default_factory=dict)
    ever: dict[str, int] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    closed: frozenset[str] = frozenset()
    in_every: bool = False
    level: int = 0

    def narrow(self, name: str, shape: Shape) -> bool:
        """Note what is asked of a parameter; tell whether that agrees with what was asked before."""
        known = self.narrowed.get(name)
        if known is None or shape == ANY:
            return True
        if known == ANY:
            self.narrowed[name] = shape
            return True
        return can_equal(known, shape)

    def inner(self) -> Scope:
        """Return a scope for a body inside this one."""
        return Scope(
            self.tree, dict(self.names), self.narrowed, self.ever, self.used, self.closed, self.in_every, self.level + 1
        )

    def of_every(self) -> Scope:
        """Return a scope for the body of an `every`: inside another one the outer names are closed."""
        inner = self.inner()
        inner.closed = frozenset(self.names) if self.in_every else self.closed
        inner.in_every = True
        return inner
