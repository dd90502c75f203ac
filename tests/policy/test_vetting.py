"""What the embedded engine refuses at load: with file, line and the remedy, and never with a signal."""

from __future__ import annotations

import pytest

from pytest_soclab.base.errors import PolicyError
from pytest_soclab.policy.embedded import EmbeddedEngine
from pytest_soclab.policy.load import source_of
from pytest_soclab.policy.model import PolicyOutcome
from pytest_soclab.policy.prepared import prepare

HEAD = """package soclab.gateway

decision := {"outcome": "deny", "reasons": [r | some r in reasons], "obligations": []} if count(reasons) > 0

decision := {"outcome": "allow", "reasons": [], "obligations": ["redact"]} if count(reasons) == 0

"""

REFUSED = {
    "two arities": (
        'reasons contains "a" if not small(input)\n\nsmall(x) if count(x.ts) == 1\n\nsmall(x, y) if count(x.ts) <= y',
        "11: small takes 2 arguments, expected 1, as above",
    ),
    "too few values": ('reasons contains "a" if {\n\t[x, y] := ["one"]\n\tx == y\n}', "8: found ':=' where"),
    "old syntax, a body": ('reasons contains "a" { input.x }', "7: found '{' after the end of a statement"),
    "old syntax, a value": ("x := 1 { input.x }", "7: found '{' after the end of a statement"),
    "old syntax, a rule": ("x { input.x }", "7: found a body without `if`"),
    "old syntax, a set": ('reasons["a"] { input.x }', "7: found a rule under a key"),
    "`=` in a body": ('reasons contains "a" if { input.x = true }', "7: found '=', which is not proved"),
    "`=` that binds afresh": ("ok if { approved = true }", "7: found '=', which is not proved"),
    "`=` in a head": ("x = 1", "7: found '=' where `if` or `:=` is needed"),
    "no `contains`": ('reasons "a" if input.x', "7: found '\"a\"' where"),
    "double `:=`": (
        'reasons contains "a" if {\n\tx := 1\n\tx := 2\n\tx == 1\n}',
        "9: the variable 'x' has the name of another",
    ),
    "`:=` to a rule": ("x := 1\n\ny if {\n\tx := 2\n\tx == 2\n}", "10: the variable 'x' has the name of a rule"),
    "a variable called input": ("x if {\n\tinput := 1\n\tinput == 1\n}", "8: found 'input' where a name is needed"),
    "a parameter called data": ("f(data) if data.x", "7: found 'data' where a name is needed"),
    "a rule named data": ("data := 1", "7: found 'data' where a name is needed"),
    "a rule named count": ("count(x) := 1 if x", "7: a rule is called 'count', as a builtin is"),
    "a default under a key": ('default limits["host"] := 1', "7: found a default of a function or under a key"),
    "a rule under a variable": ('limits[kind] := 2 if kind := "user"', "7: found a rule under a key"),
    "two defaults": ("default x := 1\n\ndefault x := 2", "9: a second default of x"),
    "a set and a value": ("x contains 1\n\nx := 2", "9: x is a set rule and a complete rule"),
    "a free variable under not": ("x if not input.xs[i] == 1", "7: the name 'i' is no rule, import or variable"),
    "a wildcard under not": ("x if not input.xs[_] == 1", "7: the name '_' is no rule, import or variable"),
    "count of nothing": ("x if count() == 0", "7: count is called with 0 arguments, expected 1"),
    "a nested quantifier": ('x if regex.match("^(a+)+$", input.s)', "7: regex.match is given a pattern"),
    "a computed pattern": ("x if regex.match(input.p, input.s)", "7: regex.match is given a pattern that is not"),
    "many quantifiers": ('x if regex.match("a*a*a*a*a*a*b", input.s)', "7: regex.match is given a pattern"),
    "concat of a set": ('x if concat(",", {"b", "a"}) == "a,b"', "7: argument 2 of concat is a set"),
    "concat of something": ('f(x) if concat(",", x) == "a,b"', "7: concat is given what may be a set"),
    "sprintf": ('x if sprintf("%5s|", [input.s]) == "    a|"', "7: the builtin 'sprintf' is not proved"),
    "base64": ('x if base64.decode("YQ") == "a"', "7: the builtin 'base64.decode' is not proved"),
    "division": ("x if 15.3 / 3 == 5.1", "7: found '/', which is not proved"),
    "values never equal": ('x if count(input.xs) == "1"', "7: the two sides can never be equal; OPA refuses it"),
    "a kind never taken": ("x if startswith(5, input.s)", "7: argument 1 of startswith is a number"),
    "a field of a text": ('x := "a"\n\ny if x.b', "9: a string has nothing inside; OPA refuses it"),
    "a kind that a body does not take": ('f(x) if x == 1\n\ny if f("a")', "9: an argument of f never has the kind"),
    "a rule that needs itself": ("x if y\n\ny if x", "7: x depends on itself"),
    "a package as a value": ("x if data.soclab.gateway", "7: data.soclab.gateway is a package"),
    "all data": ("x if data[input.s]", "7: data is a package or above one"),
    "not in every": ("x if {\n\tevery y in input.ys { not y == 1 }\n}", "8: found `not` inside `every`"),
    "an unused variable": ("x if {\n\ty := input.y\n\tinput.z\n}", "7: the variable 'y' is never used"),
    "an operator on a new line": ("x if {\n\tinput.y\n\t== 1\n}", "9: '==' begins a line"),
    "with": ("x if input.y with input as {}", "7: found 'with', which is not proved"),
    "an array from a set, compared": (
        'x if [y | some y in {"b", "a"}] == ["a", "b"]',
        "7: '==' is given an array made",
    ),
    "an order of texts": ('x if input.y < "b"', "7: '<' compares something else than numbers"),
    "a double key": ('x := {"a": 1, "a": 2}', "7: the key 'a' stands twice"),
    "two parameters of one name": ("f(a, a) if a == 1", "7: two parameters are called 'a'"),
    "a name of the engine's": ("soclab_1 := 1", "7: a rule is called 'soclab_1'"),
    "deep brackets": ("x := " + "[" * 60 + "]" * 60, "7: found brackets more than 40 deep"),
    "very many items": ("x := [" + "1, " * 30_000 + "1]", "7: found 6"),
}
"""A policy's rule and what is said of it, after `p.rego:`."""


def refusal(text: str, data=None) -> str:
    with pytest.raises(PolicyError) as raised:
        prepare("p", {"p.rego": text}, data or {})
    return str(raised.value)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_proved_is_refused_with_its_place(name):
    rule, said = REFUSED[name]
    assert f"p.rego:{said}" in refusal(f"{HEAD}{rule}\n")


@pytest.mark.parametrize("form", ["import data", "import input.x", "import data.x as input", "import data.a.count"])
def test_an_import_that_hides_something_is_refused(form):
    assert "p.rego:" in refusal(HEAD.replace("\n\n", f"\n\n{form}\n\n", 1))


def test_data_in_the_place_of_a_package_is_refused():
    assert "the data holds something at data.soclab.gateway" in refusal(HEAD, {"soclab": {"gateway": {"reasons": []}}})


def test_every_refusal_says_what_to_do():
    for rule, _ in REFUSED.values():
        assert "; " in refusal(f"{HEAD}{rule}\n")


def decide(rules: str, document, data=None):
    engine = EmbeddedEngine(source_of("p", {"p.rego": HEAD + rules}, data or {}), tried=True)
    return engine.decide(document)


def test_a_misspelt_setting_opens_no_rule():
    rules = 'reasons contains "closed" if not open\n\nopen if not input.kind in data.closed_kinds\n'
    given = {"kind": "host"}
    assert decide(rules, given, {"closed_kinds": ["user"]}).outcome is PolicyOutcome.ALLOW
    assert decide(rules, given, {"closed_kind": ["user"]}).reasons == ("closed",)
    assert decide(rules, {}, {"closed_kinds": ["user"]}).reasons == ("closed",)


def test_a_missing_argument_opens_no_rule():
    rules = 'reasons contains "closed" if not open\n\nopen if not bad(input.kind)\n\nbad(x) if x == "user"\n'
    assert decide(rules, {"kind": "host"}).outcome is PolicyOutcome.ALLOW
    assert decide(rules, {}).reasons == ("closed",)


def test_the_empty_set_is_taken():
    inside = "inside if {x | some x in input.ts} - {x | some x in input.sc} == set()"
    rules = f'reasons contains "out" if not inside\n\n{inside}\n'
    assert decide(rules, {"ts": ["a"], "sc": ["a", "b"]}).outcome is PolicyOutcome.ALLOW
    assert decide(rules, {"ts": ["c"], "sc": ["a", "b"]}).reasons == ("out",)


def test_an_argument_of_another_kind_is_undefined():
    rules = 'reasons contains "service" if startswith(input.arguments.user, "svc-")\n'
    assert decide(rules, {"arguments": {"user": 5}}).outcome is PolicyOutcome.ALLOW
    assert decide(rules, {"arguments": {"user": "svc-a"}}).reasons == ("service",)
