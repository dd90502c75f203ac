"""The intel-off arm: which servers it withholds, which profile comes out, and when it cannot be derived."""

from __future__ import annotations

import json

import pytest

from pytest_soclab.base.errors import KnownAnswerError
from pytest_soclab.known_answer.intel_off.derive import derive, intel_off_text

from .support import CASES, soclab, write

STORED = json.loads((CASES / "settings.json").read_text())
LOOKUP = {"kind": "reputation_lookup"}


def stored(tmp_path, **changes):
    """Write the settings of the cases with some of them changed; None removes one."""
    data = STORED | {name.replace("__", "."): value for name, value in changes.items()}
    return write(
        tmp_path, json.dumps({name: value for name, value in data.items() if value is not None}), "settings.json"
    )


def refused(tmp_path, profile="all_tools", **changes):
    with pytest.raises(KnownAnswerError) as caught:
        derive(profile, stored(tmp_path, **changes))
    return str(caught.value).replace(f"{tmp_path}/", "")


def test_the_defaults_withhold_the_two_built_in_lookup_servers(capsys, tmp_path):
    ran = soclab(capsys, "intel-off", out=tmp_path / "o")
    assert ran.status == 0
    assert ran.result["base"] == "default"
    assert list(ran.result["withheld"]) == ["threatintel", "virustotal"]
    assert ran.result["withheld"]["virustotal"]["others"] == ["get_behaviour"]
    assert ran.result["profile"]["exclude_servers"] == ["threatintel", "virustotal"]
    assert ran.result["not_withheld"] == []


def test_the_active_profile_is_the_base_and_the_whole_profile_comes_out(tmp_path):
    profiles = {"team": {"label": "T", "stages": [{"key": "a", "agents": ["x"], "own": 1}], "own": {"kept": [1]}}}
    arm = derive(None, stored(tmp_path, agents__active_profile="team", agents__profiles=profiles))
    assert (arm.base, arm.name) == ("team", "team_intel_off")
    assert arm.profile == profiles["team"] | {"exclude_servers": ["threatintel", "virustotal"]}
    assert arm.job == {"agents.active_profile": "team_intel_off"}


def test_what_the_base_excludes_is_kept_in_its_order(tmp_path):
    profiles = {"p": {"exclude_servers": ["zeta", "virustotal", "alpha"]}}
    arm = derive("p", stored(tmp_path, agents__active_profile="p", agents__profiles=profiles))
    assert arm.profile["exclude_servers"] == ["zeta", "virustotal", "alpha", "threatintel"]
    assert list(arm.withheld) == ["threatintel", "virustotal"]


def forms():
    export = {"format": "settings-export/1", "values": {f"core.{name}": value for name, value in STORED.items()}}
    nested = {
        "agents": {"active_profile": "default", "profiles": STORED["agents.profiles"]},
        "mcp": {"servers": STORED["mcp.servers"]},
        "providers": STORED["providers"],
    }
    deep = {
        "agents.active_profile": "default",
        "other.setting": [1],
        "providers.sandbox.tools": STORED["providers"]["sandbox"]["tools"],
    }
    deep |= {f"agents.profiles.{name}": value for name, value in STORED["agents.profiles"].items()}
    deep |= {"mcp.servers": {}} | {f"mcp.servers.{name}": value for name, value in STORED["mcp.servers"].items()}
    return {"dotted": STORED, "export": export, "nested": nested, "deep": deep}


@pytest.mark.parametrize("form", forms())
def test_the_forms_of_stored_settings(form, tmp_path):
    arm = derive("all_tools", write(tmp_path, json.dumps(forms()[form]), "s.json"))
    assert arm.to_json() == derive("all_tools", str(CASES / "settings.json")).to_json()


def test_a_lookup_server_is_withheld_whole_even_where_it_is_disabled(tmp_path):
    servers = {"intel": {"enabled": False, "tools": {"ask": LOOKUP, "parse": {"kind": "static_analysis"}, "plain": {}}}}
    arm = derive("default", stored(tmp_path, mcp__servers=servers))
    assert arm.to_json()["withheld"] == {"intel": {"lookups": ["ask"], "others": ["parse", "plain"]}}


@pytest.mark.parametrize("kind", ["reputation_lookup", "indicator_report", "service_submission"])
def test_every_lookup_kind_withholds_its_server(kind, tmp_path):
    arm = derive("default", stored(tmp_path, mcp__servers={"x": {"tools": {"t": {"kind": kind}}}}))
    assert list(arm.withheld) == ["x"]


def test_a_built_in_server_without_tools_of_its_own_declares_the_built_in_ones(tmp_path):
    arm = derive("default", stored(tmp_path, mcp__servers={"virustotal": {"enabled": True}, "mine": {}}))
    assert list(arm.withheld) == ["virustotal"]
    assert "get_file_report" in arm.withheld["virustotal"].lookups


def test_a_server_is_judged_by_its_declared_kinds_not_its_name(tmp_path):
    servers = {
        "virustotal": {"tools": {"get_file_report": {"kind": "static_analysis"}}},
        "plain": {"tools": {"t": LOOKUP}},
    }
    assert list(derive("default", stored(tmp_path, mcp__servers=servers)).withheld) == ["plain"]


def test_the_text_says_what_matters(tmp_path):
    text = intel_off_text(derive("all_tools", str(CASES / "settings.json")))
    assert "virustotal: looks up with get_file_report; goes with it: get_behaviour" in text
    assert "not withheld: public_report of provider sandbox" in text
    assert "agents.profiles.all_tools_intel_off" in text
    assert '"exclude_servers": [' in text
    assert "paid run" in text
    assert "usual approval" in text
    assert "blind" in text
    assert "gate it against the base profile" in text


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"mcp__servers": {"a": {"tools": {"t": {"kind": "static_analysis"}}}}}, "nothing to withhold: no server"),
        ({"mcp__servers": {}}, "nothing to withhold: no server"),
        (
            {"agents__profiles": {"default": {}, "all_tools": {"exclude_servers": ["virustotal", "threatintel"]}}},
            "nothing to withhold: the profile 'all_tools' excludes threatintel, virustotal already",
        ),
        (
            {"agents__profiles": STORED["agents.profiles"] | {"all_tools_intel_off": {"label": "other"}}},
            "the name 'all_tools_intel_off' already taken with other content",
        ),
        ({"agents__profiles": {"default": {}}}, "no profile 'all_tools'; valid: default"),
        ({"agents__profiles": {"default": {}, "all_tools": {"stages": [{"agents": []}]}}}, "stages.0.key"),
        ({"agents__profiles": {"default": {}, "all_tools": {"exclude_servers": "network"}}}, "exclude_servers"),
        ({"agents__profiles": {"default": {}, "all_tools": []}}, "agents.profiles.all_tools"),
        ({"agents__profiles": []}, "agents.profiles"),
        ({"agents__active_profile": "gone"}, "the active profile 'gone' is not among agents.profiles"),
        ({"agents__active_profile": 5}, "agents.active_profile"),
        ({"mcp__servers": {"a": {"tools": {"t": {"kind": 5}}}}}, "mcp.servers.a.tools.t.kind"),
        ({"mcp__servers": {"a": {"enabled": "yes"}}}, "mcp.servers.a.enabled"),
        ({"mcp__servers": None, "mcp": 5}, "mcp: 5, expected an object"),
        ({"providers": {"a": {"tools": []}}}, "providers.a.tools"),
        ({"agents__profiles__all_tools__label__x": 1}, "below a value that is no object"),
        ({"core__providers": {}}, "the setting 'providers' twice"),
    ],
)
def test_an_arm_that_cannot_be_derived_is_refused(changes, text, tmp_path):
    message = refused(tmp_path, **changes)
    assert message.startswith("settings.json")
    assert text in message


def test_a_name_taken_with_the_same_content_is_no_conflict(tmp_path):
    first = derive("all_tools", stored(tmp_path))
    again = stored(tmp_path, agents__profiles=STORED["agents.profiles"] | {first.name: dict(first.profile)})
    assert derive("all_tools", again) == first


def test_profiles_without_the_default_need_a_name(tmp_path):
    path = stored(tmp_path, agents__active_profile=None, agents__profiles={"mine": {}})
    assert derive("mine", path).name == "mine_intel_off"
    with pytest.raises(KnownAnswerError, match="no active profile; name the base with --profile"):
        derive(None, path)


def test_nothing_is_written_when_it_cannot_be_derived(capsys, tmp_path):
    ran = soclab(capsys, "intel-off", "--profile", "none", "--settings", CASES / "settings.json", out=tmp_path / "o")
    assert (ran.status, ran.out, list(tmp_path.iterdir())) == (2, "", [])
    assert ran.err.count("\n") == 1
    assert soclab(capsys, "intel-off", "--settings", tmp_path).status == 2
