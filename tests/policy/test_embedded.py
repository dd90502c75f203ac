"""The embedded engine: decides, refuses at load what it would not decide as OPA does, and is silent about nothing."""

from __future__ import annotations

import copy

import pytest
from policy_inputs import ALONE, call, put, stream

from pytest_soclab.base.errors import PolicyError, PolicyUnavailable
from pytest_soclab.policy import embedded as module
from pytest_soclab.policy.embedded import EmbeddedEngine, working
from pytest_soclab.policy.load import load_policy
from pytest_soclab.policy.model import DecisionInput, Obligation, PolicyOutcome
from pytest_soclab.policy.probes import PROBES

HEAD = "package soclab.gateway\n\n"
DENY = HEAD + 'decision := {"outcome": "deny", "reasons": [reason | some reason in reasons], "obligations": []}\n\n'


def refusal(policy_dir, text: str, **files: str) -> str:
    with pytest.raises(PolicyError) as raised:
        EmbeddedEngine(load_policy(policy_dir(text, **files)))
    return str(raised.value)


def engine(policy_dir, text: str, **files: str) -> EmbeddedEngine:
    """Return an engine that was not tried out in another process, which takes a while."""
    return EmbeddedEngine(load_policy(policy_dir(text, **files)), tried=True)


def test_every_reason_can_deny_alone(embedded):
    for reason, document in ALONE.items():
        DecisionInput.model_validate(document)
        decision = embedded.decide(document)
        assert (decision.outcome, decision.reasons) == (PolicyOutcome.DENY, (reason,)), reason
        assert decision.obligations == ()


@pytest.mark.parametrize(
    ("document", "obligations"),
    [
        (call("read", level=1), [Obligation.REDACT]),
        (call("read"), [Obligation.REDACT]),
        (put(call("note", level=2), "arguments.verdict", "malicious"), [Obligation.REDACT]),
        (call("note", level=2), [Obligation.REDACT, Obligation.REQUIRE_APPROVAL]),
        (call("act", level=3), [Obligation.RECORD_ONLY, Obligation.REDACT]),
        (call("act", level=4), [Obligation.REDACT, Obligation.REQUIRE_APPROVAL]),
        (call("act", level=5), [Obligation.REDACT]),
        (
            put(call("act", level=5), "tool.change", "account_disabled"),
            [Obligation.REDACT, Obligation.REQUIRE_APPROVAL],
        ),
    ],
)
def test_an_allowance_names_its_obligations(embedded, document, obligations):
    decision = embedded.decide(document)
    assert decision.outcome is PolicyOutcome.ALLOW
    assert list(decision.obligations) == obligations


def test_an_empty_input_is_denied(embedded):
    decision = embedded.decide({})
    assert decision.outcome is PolicyOutcome.DENY
    assert len(decision.reasons) > 10


def test_whatever_is_missing_denies(embedded):
    for name in set(call("act")) - {"format", "arguments"}:
        document = call("act", targets=[], evidence=[])
        del document[name]
        assert embedded.decide(document).outcome is PolicyOutcome.DENY, name


def test_the_input_is_not_changed(embedded):
    for document in stream(7, 60):
        before = copy.deepcopy(document)
        embedded.decide(document)
        assert document == before


def test_the_same_input_gives_the_same_decision(embedded, bundled):
    other = EmbeddedEngine(bundled)
    documents = list(stream(8, 60))
    assert [embedded.decide(d) for d in documents] == [other.decide(d) for d in reversed(documents)][::-1]


ECHO = HEAD + 'decision := {"outcome": "deny", "reasons": [input.text], "obligations": []}\n'
TEXTS = [
    "plain",
    'a "quote"',
    "back\\slash",
    "\\u0041",
    "nul\x00byte",
    "line\nbreak\ttab",
    "zoë",
    "😀",
    "\u2028",
    "\x7f",
]


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_a_text_reaches_the_policy_as_it_is(policy_dir, text):
    assert engine(policy_dir, ECHO).decide({"text": text}).reasons == (text,)


SAME = HEAD + (
    'decision := {"outcome": "deny", "reasons": [reason | some reason in reasons], "obligations": []}\n\n'
    'reasons contains "known" if input.text in data.texts\n\nreasons contains "other" if not input.text in data.texts\n'
)


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_a_text_equals_itself_in_the_data_and_nothing_else(policy_dir, text):
    import json

    known = engine(policy_dir, SAME, data__json=json.dumps({"texts": [text]}))
    assert known.decide({"text": text}).reasons == ("known",)
    assert known.decide({"text": text + "x"}).reasons == ("other",)
    others = engine(policy_dir, SAME, data__json=json.dumps({"texts": [t for t in TEXTS if t != text]}))
    assert others.decide({"text": text}).reasons == ("other",)


# ---- what an engine cannot decide reliably is no input


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 2**53 + 1, -(2**53) - 1, 2**64, "\ud800", {"\ud800": 1}, {1: 2}, (1, 2), b"x", {1}],
)
def test_a_value_that_engines_disagree_on_is_refused(embedded, value):
    with pytest.raises(PolicyUnavailable):
        embedded.decide(call("read", arguments={"query": value}))
    assert embedded.decide(call("read")).outcome is PolicyOutcome.ALLOW


def test_a_deep_input_is_refused_and_a_wide_one_is_decided(embedded):
    deep: object = 1
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(PolicyUnavailable):
        embedded.decide({**call("read"), "arguments": {"query": deep}})
    wide = {"query": list(range(20_000)), "text": "x" * 500_000}
    assert embedded.decide(call("read", arguments=wide)).outcome is PolicyOutcome.ALLOW


# ---- no answer, late and unreadable answers


def test_an_undefined_decision_is_no_answer(policy_dir):
    text = HEAD + 'decision := {"outcome": "allow", "reasons": [], "obligations": []} if input.ok\n'
    undefined = engine(policy_dir, text)
    assert undefined.decide({"ok": True}).outcome is PolicyOutcome.ALLOW
    with pytest.raises(PolicyUnavailable, match="undefined"):
        undefined.decide({})


def test_an_unknown_obligation_is_no_answer(policy_dir):
    text = HEAD + 'decision := {"outcome": "allow", "reasons": [], "obligations": ["notify"]}\n'
    with pytest.raises(PolicyUnavailable, match="unknown obligation 'notify'"):
        engine(policy_dir, text).decide({})


def test_what_a_builtin_refuses_is_undefined_as_in_opa(policy_dir):
    text = DENY + (
        'reasons contains "a" if startswith(input.text, "x")\n'
        '\nreasons contains "b" if not startswith(input.text, "x")\n'
        '\nreasons contains "c" if count(input.text) == 2\n\nreasons contains "d" if not count(input.text) == 1\n'
        '\nreasons contains "e" if {\n\tsize := count(input.text)\n\ttype_name(size) != "never"\n}\n'
    )
    lax = engine(policy_dir, text)
    assert lax.decide({"text": "xy"}).reasons == ("a", "c", "d", "e")
    assert lax.decide({"text": 5}).reasons == ("b",)


def test_an_order_of_what_is_no_number_is_no_answer(policy_dir):
    ordering = engine(policy_dir, DENY + 'reasons contains "a" if input.size < 5\n\nreasons contains "b"\n')
    assert ordering.decide({"size": 4.5}).reasons == ("a", "b")
    with pytest.raises(PolicyUnavailable, match="compares what is no number"):
        ordering.decide({"size": "4"})


def test_adding_fractions_is_no_answer(policy_dir):
    adding = engine(policy_dir, DENY + 'reasons contains "a" if input.size + 1 == 5\n\nreasons contains "b"\n')
    assert adding.decide({"size": 4.0}).reasons == ("a", "b")
    with pytest.raises(PolicyUnavailable, match="adds or subtracts, and the input holds the fraction"):
        adding.decide({"size": 0.1})
    with pytest.raises(PolicyError, match="its data holds a number with a fraction"):
        engine(policy_dir, DENY + 'reasons contains "a" if data.x + 1 == 5\n', data__json='{"x": 0.5}')


def test_a_private_character_that_stands_for_another_is_no_input(policy_dir, embedded):
    with pytest.raises(PolicyUnavailable, match="private characters"):
        embedded.decide(call("read", arguments={"query": "\U000f0022"}))
    assert "private character" in refusal(policy_dir, DENY + 'reasons contains "\U000f0022"\n')


def test_two_values_for_one_rule_are_no_answer(policy_dir):
    text = DENY + 'reasons contains x\n\nx := "a" if input.a\n\nx := "b" if input.b\n'
    two = engine(policy_dir, text)
    assert two.decide({"a": True}).reasons == ("a",)
    with pytest.raises(PolicyUnavailable):
        two.decide({"a": True, "b": True})


def test_a_late_answer_is_no_answer(bundled, monkeypatch):
    slow = EmbeddedEngine(bundled, timeout=0.5)
    assert slow.decide(call("read")).outcome is PolicyOutcome.ALLOW
    ticks = iter([0.0, 0.75])
    monkeypatch.setattr(module, "monotonic", lambda: next(ticks))
    with pytest.raises(PolicyUnavailable, match=r"answered after 0.8 s, expected at most 0.5 s"):
        slow.decide(call("read"))


def test_a_closed_engine_does_not_answer(bundled):
    closed = EmbeddedEngine(bundled)
    closed.close()
    with pytest.raises(PolicyUnavailable, match="closed"):
        closed.decide(call("read"))


# ---- vetting: refused at load, with file, line and what to do


def test_the_bundled_policy_passes(embedded):
    assert embedded.kind == "embedded"
    assert embedded.address is None


@pytest.mark.parametrize(
    ("expression", "builtin"),
    [
        ('net.cidr_contains("192.0.2.0/24", input.address)', "net.cidr_contains"),
        ('json.match_schema(input, {"type": "object"})', "json.match_schema"),
        ("time.parse_rfc3339_ns(input.at) > 0", "time.parse_rfc3339_ns"),
        ('lower(input.name) == "a"', "lower"),
        ("object.union(input, {}) == {}", "object.union"),
        ("sort(input.names) == []", "sort"),
    ],
)
def test_a_builtin_that_the_engine_lacks_is_refused(policy_dir, expression, builtin):
    message = refusal(policy_dir, DENY + f'reasons contains "x" if {expression}\n')
    assert f"policy.rego:5: the builtin '{builtin}' is not proved to answer here as in OPA" in message
    assert "or let OPA itself decide (--soclab-opa-binary)" in message


@pytest.mark.parametrize("name", ["time.now_ns()", 'http.send({"url": "x"})', "opa.runtime()", 'rand.intn("a", 3)'])
def test_a_builtin_whose_answer_changes_is_refused(policy_dir, name):
    message = refusal(policy_dir, DENY + f'reasons contains "x" if {name}\n')
    assert f"policy.rego:5: the builtin {name.partition('(')[0]!r} is not proved to answer here as in OPA" in message


def test_a_misspelt_builtin_is_refused_with_the_nearest(policy_dir):
    message = refusal(policy_dir, DENY + 'reasons contains "x" if {\n\tstartwith(input.a, "b")\n}\n')
    assert "policy.rego:6: 'startwith' is no function and no builtin; did you mean 'startswith'?" in message


def test_a_misspelt_function_is_refused_with_the_nearest(policy_dir):
    message = refusal(policy_dir, DENY + 'reasons contains "x" if outsid(1)\n\noutside(x) if x > 1\n')
    assert "policy.rego:5: 'outsid' is no function and no builtin; did you mean 'outside'?" in message


@pytest.mark.parametrize(
    "rule",
    [
        'reasons contains "x" if not hamless',
        'reasons contains "x" if settngs.limit > 1',
        'reasons contains "x" if {\n\tevery t in targts { t }\n}',
        'reasons contains "x" if "a" in lits',
        'reasons contains "x" if count(lits) > 1',
    ],
)
def test_a_misspelt_name_is_refused_with_the_nearest(policy_dir, rule):
    rules = "\n\nharmless if input.ok\n\nsettings := 1\n\ntargets := 1\n\nlists := 1\n"
    message = refusal(policy_dir, DENY + rule + rules)
    assert "is no rule, import or variable; it would be undefined without a word; did you mean" in message


def test_a_wrong_number_of_arguments_is_refused(policy_dir):
    message = refusal(policy_dir, DENY + 'reasons contains "x" if f(1, [2, 3], 4)\n\nf(a) if a > 1\n')
    assert "policy.rego:5: f is called with 3 arguments, expected 1" in message


def test_an_escape_in_a_raw_regex_is_refused(policy_dir):
    message = refusal(policy_dir, DENY + 'reasons contains "x" if regex.match(`^[\\x00-\\x7f]*$`, input.a)\n')
    assert "policy.rego:5: regex.match is given a pattern with more than plain characters" in message


@pytest.mark.parametrize(("literal", "text"), [('"caf\\u00e9"', "café"), ('"a\\/b"', "a/b"), ('"\\u0041"', "A")])
def test_a_string_means_the_text_whatever_its_form(policy_dir, literal, text):
    same = engine(policy_dir, DENY + f'reasons contains "x" if input.a == {literal}\n\nreasons contains "y"\n')
    assert same.decide({"a": text}).reasons == ("x", "y")
    assert same.decide({"a": literal[1:-1]}).reasons == ("y",)


def test_comments_and_strings_are_not_taken_for_calls(policy_dir):
    text = DENY + (
        '# reasons contains "x" if lower(input.a) and 9007199254740993\n'
        'reasons contains "lower(input.a) # no \\" comment" if input.a == `net.cidr_contains("x") # "`\n'
    )
    assert engine(policy_dir, text).decide({"a": 'net.cidr_contains("x") # "'}).reasons == (
        'lower(input.a) # no " comment',
    )


def test_every_way_to_bind_a_name_is_known(policy_dir):
    text = DENY + (
        'reasons contains "x" if {\n\tsome key, value in input.map\n\tfirst := value[0]\n\tthird := first\n'
        "\tevery item in input.list { item != third }\n\tnames := {n | some n in input.list}\n"
        "\tpicked := [w | some v in input.list; w := [v, first]]\n\tinput.list[0] == 1\n"
        "\tkey in object.keys(input.map)\n"
        '\tcontains(key, "a")\n\tcount(names) == count(picked)\n\tpair(first, value) == 1\n}\n\n'
        "pair(a, b) := 1 if {\n\ta == b[0]\n}\n\npair(a, _) := 2 if a > 100\n"
    )
    document = {"map": {"ka": [3, 5]}, "list": [1, 2]}
    assert engine(policy_dir, text).decide(document).reasons == ("x",)


def test_functions_of_another_package_are_known_by_path_and_by_alias(policy_dir):
    helpers = "package acme.net\n\nlocal(a) if a == 1\n"
    text = (
        "package soclab.gateway\n\nimport data.acme.net as net2\nimport data.acme.net.local\n\n"
        + DENY.removeprefix(HEAD)
        + 'reasons contains "a" if data.acme.net.local(input.a)\n\nreasons contains "b" if net2.local(input.a)\n\n'
        'reasons contains "c" if local(input.a)\n'
    )
    assert engine(policy_dir, text, helpers__rego=helpers).decide({"a": 1}).reasons == ("a", "b", "c")


def test_all_faults_are_told_at_once(policy_dir):
    message = refusal(
        policy_dir, DENY + 'reasons contains "x" if {\n\tlower(input.a) == hamless\n\ttime.now_ns() > 1\n}\n'
    )
    assert [line.partition("policy.rego:")[2][:2] for line in message.splitlines()] == ["6:", "6:", "7:"]


# ---- not compiling


def test_a_syntax_error_is_told_with_its_line(policy_dir):
    message = refusal(
        policy_dir, DENY + "# " + "ë" * 40 + "\nbroken := [1,\n\n\n# one\n# two\n# three\n# four, far enough\n"
    )
    assert "policy.rego:6: found the module's end where a value is needed" in message


def test_a_head_that_the_engine_cannot_read_is_told_with_its_line(policy_dir):
    message = refusal(policy_dir, DENY + 'reasons contains "x" if every t in input.targets { t }\n')
    assert "policy.rego:5: found 'every' right after `if`; put braces around the body" in message


def test_a_wildcard_index_is_refused(policy_dir):
    message = refusal(policy_dir, DENY + 'reasons contains "x" if not input.targets[_].roles[_] in input.roles\n')
    assert "policy.rego:5: the name '_' is no rule, import or variable" in message


def test_nothing_is_printed_about_a_broken_policy(policy_dir, capfd):
    refusal(policy_dir, DENY + "broken := [1,\n")
    refusal(policy_dir, DENY + 'reasons contains "x" if not input.targets[_].roles[_] in input.roles\n')
    assert capfd.readouterr() == ("", "")


def test_rules_that_depend_on_themselves_are_refused(policy_dir):
    message = refusal(policy_dir, DENY + 'reasons contains "x" if a\n\na if b\n\nb if a\n')
    assert "policy.rego:7: a depends on itself; OPA refuses it: break the ring" in message


# ---- the hazards themselves, so that a new regopy tells us when one is gone


def ask(text: str, document: str = "{}"):
    interpreter = module._interpreter()
    interpreter.add_module("hazard.rego", HEAD + text)
    interpreter.set_input_term(document)
    bundle = interpreter.build(None, ["soclab/gateway/decision"])
    return interpreter.query_bundle_entrypoint(bundle, "soclab/gateway/decision")


def test_hazard_an_unknown_function_has_no_readable_answer():
    with pytest.raises(ValueError, match="Expecting value"):
        ask('decision := lowerr("A")')


def test_hazard_a_builtin_of_another_library_is_missing():
    assert not ask('decision := net.cidr_contains("192.0.2.0/24", "192.0.2.7")').ok()


def test_hazard_not_inside_every_is_taken_for_true():
    assert ask("decision if {\n\tevery x in [1, 2] { not x == 1 }\n}\n")[0].expressions == [True]


@pytest.mark.parametrize("body", ["not item == 1", "item > 0; not item == 1", "some x in [1]; x == item"])
def test_not_and_some_inside_every_are_refused(policy_dir, body):
    message = refusal(policy_dir, DENY + f'reasons contains "x" if {{\n\tevery item in input.list {{ {body} }}\n}}\n')
    assert "inside `every`, which this engine reads otherwise than OPA; put the condition into a function" in message
    assert "policy.rego:6: " in message


def test_not_after_every_and_over_a_set_is_accepted(policy_dir):
    text = DENY + 'reasons contains "x" if {\n\tevery item in {1, 2} { item > 0 }\n\tnot input.a\n}\n'
    assert engine(policy_dir, text).decide({}).reasons == ("x",)


def test_every_proved_builtin_works_here():
    assert working() == PROBES.keys()


@pytest.mark.parametrize("number", [5.0000001, 0.1234567, 1e-9, 99.9999999])
def test_a_fraction_that_the_engine_would_round_is_no_answer(policy_dir, number):
    limited = engine(policy_dir, DENY + 'reasons contains "a" if input.size <= 5\n\nreasons contains "b"\n')
    assert limited.decide({"size": 4.500001}).reasons == ("a", "b")
    with pytest.raises(PolicyUnavailable, match="more than six decimal places"):
        limited.decide({"size": number})


@pytest.mark.parametrize("name", ["rego.v1", "future.keywords", "future.keywords.in"])
def test_an_import_of_the_language_cannot_be_renamed(policy_dir, name):
    text = DENY.replace("\n\n", f"\n\nimport {name} as x\n\n", 1) + 'reasons contains "a"\n'
    assert f"found `import {name} as x`, which cannot be renamed" in refusal(policy_dir, text)
