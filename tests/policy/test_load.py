"""What a policy directory must hold, and how its faults are told."""

from __future__ import annotations

import json
import os

import pytest
from policy_inputs import ALONE

from pytest_soclab.base.errors import PolicyError
from pytest_soclab.policy.load import load_policy
from pytest_soclab.policy.rego_text import without_rule

DECIDES = """package soclab.gateway

decision := {"outcome": "deny", "reasons": ["closed"], "obligations": []}
"""


def refused(directory) -> str:
    with pytest.raises(PolicyError) as raised:
        load_policy(directory)
    return str(raised.value)


def test_every_deny_rule_is_found_at_its_line(bundled, policies):
    assert {rule.reason for rule in bundled.rules} == set(ALONE)
    assert all(rule.title for rule in bundled.rules)
    for rule in bundled.rules:
        line = (policies / rule.file).read_text(encoding="utf-8").splitlines()[rule.line - 1]
        assert line.startswith(f'reasons contains "{rule.reason}"')
    assert bundled.place("protected_asset").startswith("scope.rego:")
    assert bundled.place("no_such_reason") == ""


def test_tests_are_left_out_and_data_is_read(bundled):
    assert not [name for name in bundled.modules if name.endswith("_test.rego")]
    assert bundled.data["soclab"]["settings"]["least_level"] == {"observe": 1, "note": 2, "act": 3}


def test_the_digest_is_over_content_not_place(policy_dir, tmp_path):
    first = load_policy(policy_dir(DECIDES, data__yaml="a: 1\n"))
    (tmp_path / "elsewhere").mkdir()
    for path in (tmp_path / "policies").iterdir():
        (tmp_path / "elsewhere" / path.name).write_bytes(path.read_bytes())
    assert load_policy(tmp_path / "elsewhere").digest == first.digest
    (tmp_path / "elsewhere" / "data.yaml").write_text("# a comment changes nothing\na: 1\n", encoding="utf-8")
    assert load_policy(tmp_path / "elsewhere").digest == first.digest
    (tmp_path / "elsewhere" / "data.yaml").write_text("a: 2\n", encoding="utf-8")
    assert load_policy(tmp_path / "elsewhere").digest != first.digest


def test_data_in_a_subfolder_stands_under_its_name(policy_dir):
    directory = policy_dir(DECIDES, data__yaml="soclab: {a: 1}\n")
    (directory / "soclab").mkdir()
    (directory / "soclab" / "data.json").write_text('{"b": {"c": [1.5, null]}}', encoding="utf-8")
    assert load_policy(directory).data == {"soclab": {"a": 1, "b": {"c": [1.5, None]}}}
    (directory / "soclab" / "data.json").write_text('{"a": 2}', encoding="utf-8")
    assert "data.json soclab.a: is given by another data file too; keep one of them" in refused(directory)


def test_no_directory(tmp_path):
    assert "nowhere: the policy directory does not exist; give --soclab-policies" in refused(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    assert "file: the policy directory is no directory" in refused(tmp_path / "file")


def test_an_empty_directory(tmp_path):
    assert "found no policy module, expected a" in refused(tmp_path)


def test_only_tests(policy_dir):
    assert "found no policy module" in refused(policy_dir(x_test__rego=DECIDES))


def test_another_package(policy_dir):
    directory = policy_dir("# mine\npackage acme.soc\n\ndecision := 1\n")
    assert "policy.rego:2: found package acme.soc, expected package soclab.gateway" in refused(directory)


def test_no_decision(policy_dir):
    directory = policy_dir("package soclab.gateway\n\nallow := true\n")
    assert "policy.rego:3: no rule of package soclab.gateway is called decision; add `decision" in refused(directory)


def test_a_number_beyond_2_53(policy_dir):
    directory = policy_dir(DECIDES + "\nlimit := 9007199254740993 # too much\n\nok := 9007199254740992\n")
    message = refused(directory)
    assert "policy.rego:5: the number '9007199254740993', expected at most 2^53" in message
    assert "9007199254740992" not in message.replace("9007199254740993", "")


def test_a_number_beyond_2_53_in_the_data(policy_dir):
    assert "data.yaml:2:" in refused(policy_dir(DECIDES, data__yaml="a: 1\nb: 9007199254740993\n"))


def test_broken_data(policy_dir):
    message = refused(policy_dir(DECIDES, data__yaml="a: 1\na: 2\n"))
    assert "data.yaml:2:1" in message
    assert "keep one of them" in message


def test_a_data_file_of_another_name(policy_dir):
    assert "limits.yaml: found a data file of another name; call it data.yaml" in refused(
        policy_dir(DECIDES, limits__yaml="a: 1\n")
    )


def test_a_module_that_is_no_text(policy_dir):
    directory = policy_dir(DECIDES)
    (directory / "more.rego").write_bytes(b"package soclab.gateway\n\n# caf\xe9\n")
    assert "more.rego:3: byte 0xe9 is not UTF-8, expected UTF-8" in refused(directory)


def test_a_huge_module(policy_dir):
    directory = policy_dir(DECIDES)
    (directory / "more.rego").write_bytes(b"#" * 1_100_000)
    assert "more.rego: found more than 1048576 bytes, expected at most 1048576" in refused(directory)


def test_a_rule_is_taken_out_with_its_comments(bundled):
    text = bundled.modules["scope.rego"]
    edited = without_rule(text, "protected_asset")
    assert 'reasons contains "protected_asset"' not in edited
    assert "# title: The target is protected" not in edited
    assert edited.count("reasons contains") == text.count("reasons contains") - 1
    assert without_rule(text, "no_such_reason") == text


# ---- files that are none, or never end


@pytest.mark.parametrize("name", ["more.rego", "data.json", "data.yaml"])
def test_a_pipe_is_not_waited_for(policy_dir, name):
    directory = policy_dir(DECIDES)
    os.mkfifo(directory / name)
    assert f"{name}: is no regular file; put a file there" in refused(directory)


def test_a_device_is_not_read(policy_dir):
    directory = policy_dir(DECIDES)
    (directory / "data.json").symlink_to("/dev/zero")
    assert "data.json: is no regular file" in refused(directory)


def test_a_file_that_is_a_loop_of_links(policy_dir):
    directory = policy_dir(DECIDES)
    (directory / "more.rego").symlink_to(directory / "more.rego")
    assert "more.rego: cannot be read" in refused(directory)


def test_deep_data_is_refused(policy_dir):
    deep = '{"a": ' * 150 + "1" + "}" * 150
    assert "the data nests more than 100 levels; flatten it" in refused(policy_dir(DECIDES, data__json=deep))
    deeper = '{"a": ' * 50_000 + "1" + "}" * 50_000
    assert "data.json: nests too deep to be read; flatten it" in refused(policy_dir(DECIDES, data__json=deeper))


def test_wide_data_is_read_in_time(policy_dir):
    wide = json.dumps({"keys": {f"k{number}": number for number in range(60_000)}})
    assert len(load_policy(policy_dir(DECIDES, data__json=wide)).data["keys"]) == 60_000


def test_a_number_of_many_digits(policy_dir):
    assert "policy.rego:5: the number" in refused(policy_dir(DECIDES + "\nlimit := " + "9" * 5000 + "\n"))


CROWN = """package soclab.gateway

default decision := {"outcome": "deny", "reasons": ["closed"], "obligations": []}

decision := {"outcome": "deny", "reasons": [r | some r in reasons], "obligations": []} if count(reasons) > 0

# METADATA
# title: The jewels
reasons contains "crown_jewel" if input.level > 0
"""


def crown(tmp_path, mapped):
    (tmp_path / "own.rego").write_text(CROWN)
    if mapped is not None:
        (tmp_path / "reasons.yaml").write_text(mapped)
    return tmp_path


def test_a_reason_of_another_name_is_read_under_the_corpus_s(tmp_path):
    from pytest_soclab.policy.embedded import EmbeddedEngine

    plain = load_policy(crown(tmp_path, None))
    source = load_policy(crown(tmp_path, "crown_jewel: protected_asset\n"))
    assert [(rule.reason, rule.own) for rule in source.rules] == [("protected_asset", "crown_jewel")]
    assert (source.place("protected_asset"), source.title("protected_asset")) == ("own.rego:9", "The jewels")
    assert source.digest != plain.digest
    assert "reasons.yaml" not in source.data
    engine = EmbeddedEngine(source)
    assert engine.decide({"level": 3}).reasons == ("protected_asset",)
    assert engine.decide({"level": 0}).reasons == ("closed",)
    engine.close()


def test_a_mapped_reason_can_be_taken_out(tmp_path):
    from pytest_soclab.policy.ablation import _without_rules

    left = _without_rules(load_policy(crown(tmp_path, "crown_jewel: protected_asset\n")), "protected_asset")
    assert left.rules == ()
    assert "The jewels" not in left.modules["own.rego"]


@pytest.mark.parametrize(
    ("mapped", "told"),
    [
        ("crown_jewels: protected_asset", "crown_jewels: is no reason of this policy"),
        ("crown_jewels: protected_asset", "did you mean 'crown_jewel'?"),
        ("crown_jewel: [protected_asset]", "expected one reason of the corpus"),
        ("crown_jewel: Protected", "expected one reason of the corpus"),
        ("crown_jewel: approver", "expected one reason of the corpus"),
        ("crown_jewel: grant_replayed", "expected one reason of the corpus"),
        ("crown_jewel: policy_unavailable", "expected one reason of the corpus"),
        ("- crown_jewel", "reasons.yaml"),
    ],
)
def test_a_mapping_that_says_nothing_is_refused(tmp_path, mapped, told):
    assert told in refused(crown(tmp_path, mapped))


@pytest.mark.parametrize("number", ["010", "-0777", "+08", "0b11", "1_000", "0X1F", "0x_1F", "1_0.5"])
def test_a_number_that_opa_reads_as_another_one_is_refused(policy_dir, number):
    said = refused(policy_dir(DECIDES, data__yaml=f"soclab:\n  most: {number}\n"))
    assert f"data.yaml:2:9: found the number '{number}'" in said


@pytest.mark.parametrize("text", ["'010'", "10", "0", "-5", "0.5", "1e3", "0x1F", "0o10", "2024-01-01", "T_1", "1.2.3"])
def test_a_number_that_every_yaml_reads_alike_and_text_are_taken(policy_dir, text):
    load_policy(policy_dir(DECIDES, data__yaml=f"soclab:\n  most: {text}\n"))


def test_half_a_character_in_json_data_is_refused(policy_dir):
    assert "half of a character" in refused(policy_dir(DECIDES, data__json='{"note": "\\ud800"}'))


@pytest.mark.parametrize("word", ["if", "in", "contains", "every"])
def test_a_keyword_may_be_imported_alone(policy_dir, word):
    source = load_policy(policy_dir(DECIDES.replace("\n", f"\n\nimport future.keywords.{word}\n", 1)))
    assert source.modules


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1e30"])
def test_a_float_that_is_not_finite_or_too_large_is_refused(policy_dir, number):
    assert "is not finite or beyond 2^53" in refused(policy_dir(DECIDES, data__json=f'{{"most": {number}}}'))
