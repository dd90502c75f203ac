"""Reads a module of the part of Rego that is proved for the embedded engine; everything else is a fault at its line."""

from __future__ import annotations

from pytest_soclab.base.errors import quote
from pytest_soclab.policy.rego_expressions import ExpressionReader
from pytest_soclab.policy.rego_stream import COMPARING, END, JOINING, KEYWORDS
from pytest_soclab.policy.rego_tree import Branch, Collection, Expr, Scalar, Table, Tree, TreeRule, walk

_HEADS = "this engine may read it otherwise than OPA: `if` goes before a body, and `contains` makes a set"


def parse_tree(file: str, text: str) -> Tree:
    """Return the tree of a module.

    Raises:
        PolicyError: with the first thing that is not of the proved part of Rego.
    """
    return _ModuleReader(file, text).module()


class _ModuleReader(ExpressionReader):
    """Reads package, imports and rules."""

    def module(self) -> Tree:
        """Read the whole module."""
        self.need("package")
        package = self._package()
        imports: dict[str, str] = {}
        while self._starts("import"):
            self._import(imports)
        rules = []
        while self.now() is not END:
            self._starts("")
            rules.append(self._rule())
        return Tree(self.file, self.text, package, imports, rules)

    def _package(self) -> str:
        word = self.last()
        path = self._dotted()
        keyword = next((part for part in path.split(".") if part in KEYWORDS), None)
        if keyword is not None:
            raise self.fault(f"found the keyword {keyword!r} in the package's name", word)
        return path

    def _starts(self, word: str) -> bool:
        """Tell whether a statement begins with a word; every statement begins on a line of its own."""
        if self.now() is not END and self.same_line():
            raise self.fault(f"found {quote(self.now().text)} after the end of a statement")
        return self.sees(word)

    def _dotted(self) -> str:
        path = [self._path_name()]
        while self.sees(".") and self.now().glued:
            self.take()
            path.append(self._path_name())
        return ".".join(path)

    def _path_name(self) -> str:
        token = self.take()
        if token.kind != "name" or token.text in KEYWORDS - {"data", "contains", "if", "in", "every"}:
            raise self.fault(f"found {quote(token.text)} in a path", token)
        return token.text

    def _import(self, imports: dict[str, str]) -> None:
        word = self.take()
        path = self._dotted()
        renamed = self.skip("as")
        alias = self.name().text if renamed else path.rpartition(".")[2]
        if path in ("rego.v1", "future.keywords") or path.startswith("future.keywords."):
            if renamed:
                raise self.fault(f"found `import {path} as {alias}`, which cannot be renamed", word, "take `as` out")
            return
        if not path.startswith("data."):
            raise self.fault(f"found `import {path}`, expected a path below data", word, "name a package or data")
        if alias in imports or alias in KEYWORDS:
            raise self.fault(f"the import's name {alias!r} is taken", word, "give it another name with `as`")
        imports[alias] = path

    # ---- rules

    def _rule(self) -> TreeRule:
        first = self.at
        if self.skip("default"):
            return self._default(first)
        name = self.name().text
        if self.sees("[", ".", "{"):
            what = "a body without `if`" if self.sees("{") else "a rule under a key"
            raise self.fault(f"found {what}; {_HEADS}")
        if self.skip("contains"):
            value = self.expression()
            return self._finish(first, "set", name, (), value)
        parameters = self._parameters() if self.sees("(") and self.now().glued else None
        value_given = self.expression() if self.skip(":=") else None
        if value_given is None and not self.sees("if"):
            raise self.fault(f"found {quote(self.now().text)} where `if` or `:=` is needed")
        kind = "complete" if parameters is None else "function"
        return self._finish(first, kind, name, parameters or (), value_given)

    def _default(self, first: int) -> TreeRule:
        name = self.name().text
        if not self.sees(":="):
            raise self.fault("found a default of a function or under a key, which is not proved to answer as in OPA")
        self.take()
        value = self._constant()
        return TreeRule(self.place(first), "default", name, (), (Branch(value, ()),))

    def _constant(self) -> Expr:
        value = self.term()
        if isinstance(value, Scalar) or (isinstance(value, Collection | Table) and _is_constant(value)):
            return value
        raise self.fault("the default is no constant", self.last())

    def _parameters(self) -> tuple[str, ...]:
        opening = self.take()
        names: list[str] = []
        while not self.sees(")"):
            names.append(self.name().text)
            if not self.sees(")"):
                self.need(",")
        self.take()
        if not names:
            raise self.fault("found a function without parameters", opening)
        double = next((n for n in names if n != "_" and names.count(n) > 1), None)
        if double:
            raise self.fault(f"two parameters are called {double!r}", opening)
        return tuple(names)

    def _finish(self, first: int, kind: str, name: str, parameters: tuple[str, ...], value: Expr | None) -> TreeRule:
        branches = [self._branch(value)]
        while self.sees("else") and self.same_line():
            word = self.take()
            if kind == "set" or not branches[-1].body:
                raise self.fault("found `else` where it has no meaning", word)
            value = self.expression() if self.skip(":=") else None
            if value is None and not self.sees("if"):
                raise self.fault("found `else` without a value and without `if`", word)
            branches.append(self._branch(value))
        return TreeRule(self.place(first), kind, name, parameters, tuple(branches))

    def _branch(self, value: Expr | None) -> Branch:
        if not self.skip("if"):
            return Branch(value, ())
        if self.sees("{") and not self._goes_on_after_brace():
            return Branch(value, self.braced())
        if self.sees("some", "every"):
            raise self.fault(f"found {self.now().text!r} right after `if`", remedy="put braces around the body")
        return Branch(value, (self.literal(),), braced=False)

    def _goes_on_after_brace(self) -> bool:
        """Tell whether the brace at hand begins an expression (`{x | …} == set()`), not a body."""
        closing = self.at + 1
        while closing < len(self.tokens) and self.tokens[closing].depth > self.now().depth:
            closing += 1
        if closing + 1 >= len(self.tokens):
            return False
        after = self.tokens[closing + 1]
        same = after.line == self.tokens[closing].line
        return same and after.text in COMPARING | JOINING | {"in"} and after.kind in ("mark", "name")


def _is_constant(value: Expr) -> bool:
    return all(isinstance(node, Scalar | Collection | Table) for node in walk(value))
