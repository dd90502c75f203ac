"""Seeded policies and inputs: mostly of the part of Rego that the embedded engine takes, some a little beside it."""

from __future__ import annotations

import re
from random import Random
from typing import Any

DATA = {
    "cfg": {
        "limit": 3, "names": ["a", "svc-b", "é"], "table": {"a": 1, "b": 2, "é": 3}, "none": None, "off": False,
        "nest": {"deep": {"xs": [1, 2, 2]}}, "text": 'q"uote',
    }
}  # fmt: skip
TEXTS = ["", "a", "b", "svc-b", "é", 'q"uote', "back\\slash", "li\nne", "a@b", "a.b.c", "😀", "1", "\x00", "aa", "A"]
_NUMBERS = [0, 1, 2, 3, -1, 0.5, 1.0, 2.5, 7, 2**53]
_PATHS = {
    "number": ["input.n", "input.o.a", "data.cfg.limit", "input.os[0].n", "input.xs[0]", "input.miss", "input.o.z"],
    "text": ["input.s", "input.ss[0]", "data.cfg.text", "input.os[0].id", "input.miss.deep", "input.o.s"],
    "list": ["input.xs", "input.ss", "data.cfg.names", "input.os[0].tags", "input.miss", "data.cfg.nest.deep.xs"],
    "object": ["input.o", "data.cfg.table", "input.os[0]", "input.miss.o", "data.cfg"],
    "any": ["input.b", "input.nul", "data.cfg.none", "data.cfg.off", "input.os", "input.s", "input.n", "input.o.a"],
}
_TESTS = [
    "startswith", "endswith", "contains", "is_string", "is_number", "is_null", "is_array", "is_object", "is_set",
    "is_boolean", "regex.match",
]  # fmt: skip
_WILD = [
    "inputt.n", "nope", "data", "data.soclab", "input.xs[i]", "input.xs[_]", "lower(input.s)", "input", "count()",
    "count(1)", "input.o[input.s]", "data.cfg.table[input.s]",
]  # fmt: skip
_LITERALS = ['"a"', '"b"', '"é"', '"svc-"', '"q\\"uote"', "`back\\slash`", '"li\\nne"', '""']
_PATTERNS = ["^a+$", "b", "^[a-z@]+$", "a\\\\.b", "^svc-", "[0-9]{1,2}", "^$", "[A-Z]"]


class Generator:
    """Writes policies. `wild` is the share of choices that are beside what is proved."""

    def __init__(self, seed: int, wild: float = 0.01) -> None:
        self.random = Random(seed)
        self.wild = wild
        self.sets: list[str] = []
        self.values: list[str] = []
        self.functions: list[tuple[str, int]] = []
        self.variables: list[str] = []
        self.count = 0

    def module(self) -> str:
        """Return a module whose `probe` holds the value of every rule, and whose `decision` depends on them."""
        rules: list[str] = []
        for number in range(self.random.randint(2, 5)):
            rules += self._rule(f"r{number}")
        self.random.shuffle(rules)
        self.variables = []
        parts = [f'"{name}": [v{i} | v{i} := {name}]' for i, name in enumerate([*self.sets, *self.values])]
        parts += [f'"{name}": [w{i} | w{i} := {name}({", ".join(self._atoms(arity))})]'
                  for i, (name, arity) in enumerate(self.functions)]  # fmt: skip
        parts.append('"decision": [d | d := decision]')
        return "\n\n".join(
            ["package soclab.gateway", _HEAD, *self._reasons(), f"probe := {{{', '.join(parts)}}}", *rules, ""]
        )

    def _reasons(self) -> list[str]:
        reasons = []
        for name in [*self.sets, *self.values]:
            self.variables = []
            sense = self.random.choice(["not ", ""])
            reasons.append(f'reasons contains "{name}" if {sense}{self._condition()}')
        return [*reasons, 'reasons contains "never" if input.never']

    def _atoms(self, count: int) -> list[str]:
        return [self.random.choice([self._atom("any"), self._atom("number"), self._atom("list")]) for _ in range(count)]

    # ---- rules

    def _rule(self, name: str) -> list[str]:
        self.variables = []
        kind = self.random.choice(["set", "set", "value", "value", "value", "function", "function"])
        if kind == "set":
            rules = [f"{name} contains {self._with_body(self._item)}" for _ in range(self.random.randint(1, 2))]
            self.sets.append(name)
        elif kind == "value":
            rules = self._value_rules(name)
            self.values.append(name)
        else:
            rules = self._function(name)
        return rules

    def _item(self) -> str:
        return self._atom(self.random.choice(["text", "number", "any"]))

    def _value_rules(self, name: str) -> list[str]:
        how = self.random.randrange(6)
        if how == 0:
            return [f"{name} := {self._expression()}"]
        if how == 1:
            default = self.random.choice(["false", '"no"', "0", "[]", "null"])
            return [f"default {name} := {default}", f"{name} := {self._with_body(self._simple)}"]
        if how == 2:
            first = self._with_body(self._simple, braces=True)
            self.variables = []
            return [f"{name} := {first} else := {self._with_body(self._simple, braces=True)}"]
        self.variables = []
        bodies = [self._body() for _ in range(self.random.randint(1, 2))]
        return [f"{name} if {{\n{body}\n}}" for body in bodies]

    def _function(self, name: str) -> list[str]:
        rules = []
        arity = self.random.randint(1, 2)
        for _ in range(self.random.randint(1, 2)):
            self.variables = [f"p{i}" for i in range(arity)]
            head = f"{name}({', '.join(self.variables)})"
            value = f" := {self._simple()}" if self.random.random() < 0.3 else ""
            rules.append(f"{head}{value} if {{\n{self._body()}\n}}")
        self.functions.append((name, arity))
        return rules

    def _with_body(self, value: Any, *, braces: bool = False) -> str:
        self.variables = []
        if self.random.random() < 0.4 and not braces:
            return f"{value()} if {self.random.choice(['', 'not '])}{self._condition()}"
        body = self._body()
        return f"{value()} if {{\n{body}\n}}"

    def _body(self, most: int = 3) -> str:
        known = list(self.variables)
        lines = [self._statement() for _ in range(self.random.randint(1, most))]
        lines = [f"set() != {line}" if line[0] in "[{(" else line for line in lines]
        new = [name for name in dict.fromkeys(self.variables) if name not in known]
        unused = [name for name in new if sum(len(re.findall(rf"\b{name}\b", line)) for line in lines) < 2]
        lines += [f'type_name({name}) != "none"' for name in unused if self.random.random() > self.wild]
        return "\n".join(f"\t{line}" for line in lines)

    # ---- statements

    def _statement(self) -> str:
        how = self.random.randrange(11)
        if how == 0:
            domain = self._domain()
            return f"some {self._new()} in {domain}"
        if how == 1:
            domain = self._domain()
            key = self._new() if self.random.random() < 0.7 else "_"
            return f"some {key}, {self._new()} in {domain}"
        if how == 2:
            value = self._expression()
            return f"{self._new()} := {value}"
        if how in (3, 4):
            return self._every()
        return f"not {self._condition()}" if how in (5, 6, 7) else self._condition()

    def _every(self) -> str:
        domain, kept = self._domain(), list(self.variables)
        name = self._new()
        used = self.random.choice(
            [
                f"{name} == {self._atom('number')}",
                f"{name} != {self._atom('text')}",
                f"{name} in {self._domain()}",
                f"{name} < {self._atom('number')}",
                f"is_string({name})",
                f"{name}.n == 1",
                f"every y{self.count} in {name} {{ y{self.count} == 1 }}",
                name,
            ]
        )
        self.variables = kept
        return f"every {name} in {domain} {{ {used} }}"

    def _new(self) -> str:
        if self.variables and self.random.random() < self.wild:
            return self.random.choice(self.variables)
        self.count += 1
        name = f"x{self.count}"
        self.variables.append(name)
        return name

    def _condition(self) -> str:
        for _ in range(4):
            found = self._any_condition()
            if (
                re.search(r"input|data|\b[xpr]\d", found) and found[0] not in "[{("
            ) or self.random.random() < self.wild:
                break
        return found

    def _any_condition(self) -> str:
        choose = self.random.randrange(14)
        if choose < 3:
            kind = self.random.choice(["number", "text", "any"])
            return f"{self._atom(kind)} {self.random.choice(['==', '!='])} {self._atom(kind)}"
        if choose < 5:
            sign = self.random.choice(["<", "<=", ">", ">="])
            return f"{self._number()} {sign} {self._number()}"
        if choose < 7:
            return f"{self._atom(self.random.choice(['number', 'text', 'any']))} in {self._domain()}"
        if choose < 9:
            return self._test()
        if choose < 10 and self.functions:
            name, arity = self.random.choice(self.functions)
            return f"{name}({', '.join(self._atoms(arity))})"
        if choose < 11 and self.sets:
            name = self.random.choice(self.sets)
            return self.random.choice(
                [f'{name}["a"]', f"{name}.b", f"{name}[{self._atom('any')}]", f"count({name}) > 0"]
            )
        if choose < 12 and self.values:
            return self.random.choice(self.values)
        if choose < 13:
            return f"{self._set()} == {self._set()}"
        return self._atom("any")

    def _test(self) -> str:
        name = self.random.choice(_TESTS)
        if name.startswith("is_"):
            return f"{name}({self._atom('any')})"
        if name == "regex.match":
            return f'regex.match("{self.random.choice(_PATTERNS)}", {self._atom("text")})'
        return f"{name}({self._atom('text')}, {self._atom('text')})"

    # ---- expressions

    def _expression(self) -> str:
        how = self.random.randrange(8)
        if how == 0:
            return self._number()
        if how == 1:
            return self._comprehension()
        if how == 2:
            return f"{self._set()} {self.random.choice(['|', '&', '-'])} {self._set()}"
        if how == 3:
            return self._built()
        if how == 4:
            return f'{{"k": {self._simple()}, "l": {self._simple()}}}'
        if how == 5:
            return f"[{self._simple()}, {self._simple()}]"
        return self._condition() if how == 6 else self._simple()

    def _simple(self) -> str:
        return self._atom(self.random.choice(["number", "text", "any", "list"]))

    def _built(self) -> str:
        return self.random.choice([
            f'split({self._atom("text")}, "{self.random.choice([".", "@", "a"])}")',
            f"trim_prefix({self._atom('text')}, {self._atom('text')})",
            f"trim_suffix({self._atom('text')}, {self._atom('text')})",
            f'concat("{self.random.choice([",", "", "é"])}", [{self._atom("text")}, {self._atom("text")}])',
            f'object.get({self._atom("object")}, "{self.random.choice(["a", "z"])}", {self._simple()})',
            f"object.keys({self._atom('object')})",
            f"array.concat({self._atom('list')}, {self._atom('list')})",
            f"type_name({self._simple()})",
            f"count({self._atom(self.random.choice(['list', 'text', 'object', 'any']))})",
        ])  # fmt: skip

    def _number(self) -> str:
        how = self.random.randrange(10)
        if how < 2:
            return f"count({self._domain()})"
        if how == 2:
            return f"{self._atom('number')} {self.random.choice('+-')} {self._atom('number')}"
        return self._atom("number")

    def _set(self) -> str:
        if self.sets and self.random.random() < 0.4:
            return self.random.choice(self.sets)
        kept = list(self.variables)
        literal, walked = f"{{{self._simple()}, {self._simple()}}}", self._comprehension("{", "}")
        choice = self.random.choice(["set()", literal, walked, walked])
        self.variables = kept
        return choice

    def _comprehension(self, opening: str = "[", closing: str = "]") -> str:
        kept = list(self.variables)
        domain = self._domain()
        name = self._new()
        more = f"; {self.random.choice(['', 'not '])}{self._condition()}" if self.random.random() < 0.5 else ""
        head = self.random.choice([name, name, f"{name}.id", f"[{name}, 1]"])
        self.variables = kept
        return f"{opening}{head} | some {name} in {domain}{more}{closing}"

    def _domain(self) -> str:
        how = self.random.randrange(10)
        if how == 0:
            return self.random.choice(['["a", "b"]', "{1, 2}", '{"a": 1}', "[1, 0.5, null]", '{"a", "svc-b", "é"}'])
        if how == 1 and self.sets:
            return self.random.choice(self.sets)
        if how == 2 and self.variables:
            return self.random.choice(self.variables)
        return self._path(self.random.choice(["list", "list", "object", "any"]))

    def _atom(self, kind: str) -> str:
        if self.variables and self.random.random() < 0.35:
            name = self.random.choice(self.variables)
            return self.random.choice([name, name, f"{name}.n", f"{name}.id"])
        if self.random.random() < 0.4:
            return self._constant(kind)
        if self.values and self.random.random() < 0.1:
            return self.random.choice(self.values)
        return self._path(kind)

    def _path(self, kind: str) -> str:
        if self.random.random() < self.wild:
            return self.random.choice(_WILD)
        if kind not in ("number", "text", "any") or self.random.random() < 0.9:
            return self.random.choice(_PATHS[kind])
        return f"data.cfg.table[{self.random.choice(_PATHS['text'])}]"

    def _constant(self, kind: str) -> str:
        match kind:
            case "number":
                return self.random.choice(["0", "1", "2", "3", "0.5"])
            case "text":
                return self.random.choice(
                    ['"a"', '"b"', '"é"', '"svc-"', '"q\\"uote"', "`back\\slash`", '"li\\nne"', '""']
                )
            case "list":
                return self.random.choice(["[]", '["a"]', "[1, 2]"])
            case "object":
                return self.random.choice(["{}", '{"a": 1}'])
        return self.random.choice(["true", "false", "null", "1", '"a"'])


_HEAD = """decision := {"outcome": "deny", "reasons": [r | some r in reasons], "obligations": []} if count(reasons) > 0

decision := {"outcome": "allow", "reasons": [], "obligations": []} if count(reasons) == 0"""


def document(random: Random) -> dict[str, Any]:
    """Return an input: fields of the expected kinds, some missing, some of another kind."""
    plain = {
        "n": random.choice(_NUMBERS), "s": random.choice(TEXTS),
        "xs": _some(random, _NUMBERS), "ss": _some(random, TEXTS),
        "o": dict(_pair(random) for _ in range(random.randint(0, 3))),
        "os": [_entry(random) for _ in range(random.randint(0, 2))], "b": random.random() < 0.5, "nul": None,
    }  # fmt: skip
    for name in list(plain):
        if random.random() < 0.12:
            plain[name] = random.choice(
                [None, 1, "a", [], {}, [1, "a"], {"a": {"b": 1}}, False, 0.5, [[1]], [{"n": 1}]]
            )
        elif random.random() < 0.08:
            del plain[name]
    return plain


def _some(random: Random, values: list[Any]) -> list[Any]:
    return [random.choice(values) for _ in range(random.randint(0, 3))]


def _entry(random: Random) -> dict[str, Any]:
    return {"id": random.choice(TEXTS), "n": random.choice(_NUMBERS), "tags": _some(random, TEXTS)}


def _pair(random: Random) -> tuple[str, Any]:
    return random.choice(["a", "z", *TEXTS]), random.choice([*_NUMBERS, "a", True])


_STRANGE: list[Any] = [None, 1, "a", [], {}, [1, "a"], {"a": {"b": 1}}, False, 0.5, [[1]], [{"n": 1}]]
