"""Reads expressions and bodies of the proved part of Rego.

Stricter than Rego where two readers could disagree: an operator ends its line, a statement never begins with a bracket,
signs of different kinds need brackets around one of them, a name after a dot is no keyword.
"""

from __future__ import annotations

import json
import re

from pytest_soclab.base.errors import quote
from pytest_soclab.policy.rego_stream import COMPARING, END, JOINING, KEYWORDS, REMEDY, TokenStream
from pytest_soclab.policy.rego_text import Token
from pytest_soclab.policy.rego_tree import (
    Assign,
    Binary,
    Call,
    Collection,
    Comprehension,
    Every,
    Expr,
    Holds,
    Literal,
    Not,
    Ref,
    Scalar,
    Some,
    Table,
)

_CONSTANTS = {"true": True, "false": False, "null": None}
_NUMBER = re.compile(r"(0|[1-9]\d*)(\.\d+)?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class ExpressionReader(TokenStream):
    """A recursive descent over the tokens of one module."""

    in_head = False  # whether a comprehension's `|` may follow

    def braced(self) -> tuple[Literal, ...]:
        """Read a body in braces."""
        self.need("{")
        literals = self.body("}")
        self.need("}")
        return literals

    def body(self, closing: str) -> tuple[Literal, ...]:
        """Read statements up to a closing bracket, which stays."""
        literals = [self.literal()]
        while not self.sees(closing):
            separated = self.skip(";")
            if self.sees(closing):
                break
            if not separated and self.same_line():
                raise self.fault(f"found {quote(self.now().text)} where {closing!r}, `;` or a new line is needed")
            if not self.same_line() and self.now().kind == "mark":
                raise self.fault(f"a statement begins with {quote(self.now().text)}", remedy="begin it with a name")
            literals.append(self.literal())
        return tuple(literals)

    def literal(self) -> Literal:
        """Read one statement of a body."""
        first = self.at
        match self.now().text if self.now().kind == "name" else "":
            case "some":
                self.take()
                names, domain = self._domain()
                return Some(self.place(first), names, domain)
            case "every":
                self.take()
                names, domain = self._domain()
                body = self.braced()
                return Every(self.place(first), names, domain, body)
            case "not":
                self.take()
                inner = self.expression()
                return Not(self.place(first), inner)
        if self.now().kind == "name" and self.now(1).text == ":=":
            name = self.name().text
            self.take()
            value = self.expression()
            return Assign(self.place(first), name, value)
        inner = self.expression()
        return Holds(self.place(first), inner)

    def _domain(self) -> tuple[tuple[str, ...], Expr]:
        names = [self.name().text]
        if self.skip(","):
            names.append(self.name().text)
        self.need("in", ": `some x in xs`")
        return tuple(names), self.expression(member=False)

    def expression(self, *, member: bool = True) -> Expr:
        """Read an expression with at most one comparison, at its top."""
        first = self.at
        left = self._joined()
        if self.sees(*COMPARING) or (member and self.sees("in")):
            sign = self._sign()
            right = self._joined()
            left = Binary(self.place(first), sign, left, right)
        if self.now().kind in ("mark", "name") and self.now().text in COMPARING | {"in", "=", "*", "/", "%", "with"}:
            why = {"=": "`=` does not compare here: write `==`, or `:=` for a new name"}.get(self.now().text, REMEDY)
            if self.same_line() or self.now().text != "in":
                raise self.fault(f"found {self.now().text!r}, which is not proved to be read as in OPA", remedy=why)
        return left

    def _sign(self) -> str:
        """Take the sign between two operands, all on one line."""
        if not self.same_line():
            raise self.fault(f"{self.now().text!r} begins a line", remedy="keep an expression on one line")
        sign = self.take().text
        if not self.same_line():
            raise self.fault(f"{sign!r} ends a line", self.last(), remedy="keep an expression on one line")
        return sign

    def _joined(self) -> Expr:
        first = self.at
        left = self.term()
        sign = ""
        while self.sees(*JOINING) and not (self.sees("|") and self.in_head):
            if sign and not self.sees(sign):
                raise self.fault(f"found {self.now().text!r} beside {sign!r}", remedy="put brackets around one")
            sign = self._sign()
            right = self.term()
            left = Binary(self.place(first), sign, left, right)
        return left

    def term(self) -> Expr:
        """Read one operand."""
        token = self.now()
        match token.kind:
            case "string" | "raw":
                return Scalar(self.place_of_next(), self._text(token))
            case "number":
                return self._number()
            case "name" if token.text in _CONSTANTS:
                return Scalar(self.place_of_next(), _CONSTANTS[token.text])
            case "name":
                return self._reference()
        return self._bracket()

    def _bracket(self) -> Expr:
        first = self.at
        match self.now().text:
            case "[":
                return self._array(first)
            case "{":
                return self._braces(first)
            case "(":
                return self._bracketed()
        found = quote(self.now().text) if self.now() is not END else "the module's end"
        raise self.fault(f"found {found} where a value is needed")

    def _text(self, token: Token) -> str:
        if token.kind == "raw":
            if _CONTROL.search(token.text):
                raise self.fault("found a raw string with a control character or line end", token)
            return token.text[1:-1]
        try:
            text = json.loads(token.text)
            text.encode()
        except ValueError:
            raise self.fault(f"the string {quote(token.text)} is not readable", token) from None
        return str(text)

    def _number(self) -> Scalar:
        token = self.now()
        if not _NUMBER.fullmatch(token.text) or (self.now(1).kind == "name" and self.now(1).glued):
            raise self.fault(f"found the number {quote(token.text)}", remedy="write it in plain digits")
        value: int | float = float(token.text) if "." in token.text else int(token.text)
        if isinstance(value, float) and (value.is_integer() or len(token.text) > 15):
            raise self.fault(f"found the number {quote(token.text)}", remedy="write a whole number without a point")
        return Scalar(self.place_of_next(), value)

    def _bracketed(self) -> Expr:
        self.take()
        inner = self._inner()
        self.need(")")
        return inner

    def _array(self, first: int) -> Expr:
        self.take()
        if self.skip("]"):
            return Collection(self.place(first), "array", ())
        head = self._head()
        if self.skip("|"):
            return self._comprehension(first, "array", None, head, "]")
        return self._items(first, "array", head, "]")

    def _braces(self, first: int) -> Expr:
        self.take()
        if self.skip("}"):
            return Table(self.place(first), ())
        head = self._head()
        if self.skip(":"):
            return self._object(first, head)
        if self.skip("|"):
            return self._comprehension(first, "set", None, head, "}")
        return self._items(first, "set", head, "}")

    def _object(self, first: int, key: Expr) -> Expr:
        value = self._head()
        if self.skip("|"):
            return self._comprehension(first, "object", key, value, "}")
        pairs = [(self._key(key), value)]
        while self.skip(",") and not self.sees("}"):
            name = self._key(self.term())
            self.need(":")
            pairs.append((name, self._inner()))
        self.need("}")
        keys = [key.value for key, _ in pairs]
        double = next((key for key in keys if keys.count(key) > 1), None)
        if double is not None:
            raise self.fault(f"the key {quote(str(double))} stands twice in one object")
        return Table(self.place(first), tuple(pairs))

    def _key(self, key: Expr) -> Scalar:
        if isinstance(key, Scalar) and isinstance(key.value, str):
            return key
        raise self.fault("found a key of an object that is no text", remedy="use a comprehension for computed keys")

    def _head(self) -> Expr:
        """Read what may be a comprehension's head: a `|` after it is the comprehension's."""
        outer, self.in_head = self.in_head, True
        head = self._joined()
        self.in_head = outer
        return head

    def _inner(self) -> Expr:
        """Read an expression inside a bracket, where a `|` is a union."""
        outer, self.in_head = self.in_head, False
        inner = self._joined()
        self.in_head = outer
        return inner

    def _comprehension(self, first: int, kind: str, key: Expr | None, value: Expr, closing: str) -> Expr:
        outer, self.in_head = self.in_head, False
        body = self.body(closing)
        self.in_head = outer
        self.need(closing)
        return Comprehension(self.place(first), kind, key, value, body)

    def _items(self, first: int, kind: str, head: Expr, closing: str) -> Collection:
        items = [head]
        while self.skip(",") and not self.sees(closing):
            items.append(self._inner())
        self.need(closing)
        return Collection(self.place(first), kind, tuple(items))

    def _reference(self) -> Expr:
        first = self.at
        token = self.take()
        if token.text in KEYWORDS - {"input", "data", "contains"} or (token.text == "contains" and not self._calls()):
            raise self.fault(f"found {quote(token.text)} where a value is needed", token)
        steps: list[Expr] = []
        while self.sees(".", "[") and self.now().glued:
            steps.append(self._dot() if self.sees(".") else self._index())
        if not self._calls():
            return Ref(self.place(first), token.text, tuple(steps))
        names = [step.value for step in steps if isinstance(step, Scalar)]
        if len(names) < len(steps) or not all(isinstance(name, str) for name in names):
            raise self.fault("found a call of a computed name", token)
        return self._call(first, ".".join([token.text, *map(str, names)]))

    def _calls(self) -> bool:
        return self.sees("(") and self.now().glued

    def _dot(self) -> Scalar:
        self.take()
        token = self.now()
        if token.kind != "name" or not token.glued or token.text in KEYWORDS - {"data", "input", "contains"}:
            raise self.fault(f"found {quote(token.text)} after a dot", remedy='write it as an index: `["name"]`')
        return Scalar(self.place_of_next(), token.text)

    def _index(self) -> Expr:
        opening = self.take()
        index = self._inner()
        self.need("]")
        whole = isinstance(index, Scalar) and type(index.value) in (str, int)
        if not whole and not isinstance(index, Ref):
            raise self.fault("found an index that is neither a text, a whole number nor a name", opening)
        return index

    def _call(self, first: int, path: str) -> Call:
        self.take()
        arguments: list[Expr] = []
        while not self.sees(")"):
            arguments.append(self._inner())
            if not self.sees(")"):
                self.need(",")
        self.take()
        return Call(self.place(first), path, tuple(arguments))
