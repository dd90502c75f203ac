"""Every single call of an incident: how many there are, what becomes of each, what a loosened policy lets through."""

from __future__ import annotations

import functools
import json
import math
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_soclab.base import resources
from pytest_soclab.base.settings import Settings
from pytest_soclab.cli.main import main
from pytest_soclab.evidence.ledger import Draft
from pytest_soclab.evidence.results import Level, Reach
from pytest_soclab.evidence.terms import Course, Standing
from pytest_soclab.gateway.approvals import Absent
from pytest_soclab.gateway.state import Identity, TrialState
from pytest_soclab.soc.registry import Authority, Effect
from pytest_soclab.trials.lab import Lab
from pytest_soclab.trials.reach.asking import Asker, alike, constants
from pytest_soclab.trials.reach.incident import ground_of
from pytest_soclab.trials.reach.reach import Ground, Tried, question, reach, try_all
from pytest_soclab.trials.trial import Control, guarded_point

from .conftest import Corpus

INCIDENTS = sorted((resources.scenarios() / "incidents").glob("*.yaml"))
SMALL = next(path for path in INCIDENTS if path.stem == "identity-compromise")
SABOTAGE = next(path for path in INCIDENTS if path.stem == "insider-sabotage")
KEY = b"trials of reach are signed with this key"


@functools.cache
def lab() -> Lab:
    return Lab(Settings())


@functools.cache
def ground(path: Path = SMALL) -> Ground:
    return ground_of(*lab().incident(path), lab().registry)


@functools.cache
def asker() -> Asker:
    return Asker(lab().engine())


@functools.cache
def tried(level: Level) -> tuple[Tried, ...]:
    return tuple(try_all(ground(), asker(), level))


def policy(folder: Path, *edits: tuple[str, str, str]) -> Path:
    """Return a copy of the bundled policy in which each (file, text, other) is replaced, once and for sure."""
    own = folder / "policy"
    shutil.copytree(resources.policies(), own, ignore=shutil.ignore_patterns("*_test.rego"))
    for name, text, other in edits:
        whole = (own / name).read_text(encoding="utf-8")
        assert text in whole, f"{name} no longer holds {text!r}"
        (own / name).write_text(whole.replace(text, other), encoding="utf-8")
    return own


def test_the_number_of_calls_is_what_schemas_and_tables_span() -> None:
    """Count without making a call: products of how many things each argument can name."""
    own = ground()
    expected = sum(_number(tool, own) for tool in own.registry.tools.values())
    assert len(own.calls) == expected
    assert len({json.dumps([call.tool, call.arguments], sort_keys=True) for call in own.calls}) == expected


def _number(tool: Any, own: Ground) -> int:
    if tool.effect is Effect.READ and tool.authority is Authority.OBSERVE and not tool.outside:
        return 0
    schema = tool.arguments.model_json_schema()
    required = set(schema.get("required", ()))
    plain: list[int] = []
    other: list[int] = []
    loose = all_choices = needed_choices = 1
    loose = 0
    for name, declared in schema["properties"].items():
        marked = tool.targets.get(name)
        listed = len(declared.get("enum", ()))
        if listed:
            all_choices *= listed
            needed_choices *= listed if name in required else 1
        elif marked is not None or (name in ("accused", "cleared") and name not in tool.leaves):
            things = own.things[marked.type if marked else "account"]
            spelled = len(things) if marked else 0  # each has one other spelling
            pairs = len(things) - 1 if declared.get("type") == "array" and name in required else 0
            if name in required:
                plain.append(len(things) + max(pairs, 0))
                other.append(spelled)
            else:
                loose += len(things) + spelled
    product = math.prod(plain)
    once = sum(math.prod([*plain[:at], other[at], *plain[at + 1 :]]) for at in range(len(plain)))
    return (product + once) * all_choices + (loose * needed_choices if all(plain) else 0)


@pytest.mark.parametrize("path", INCIDENTS, ids=lambda path: path.stem)
def test_things_are_what_the_tables_hold(path: Path) -> None:
    own = ground(path)
    assert set(own.world.tables["identity.accounts"]) <= set(own.things["account"])
    assert set(own.world.tables["endpoint.hosts"]) <= set(own.things["host"])
    assert set(own.world.tables["cases.tickets"]) == set(own.things["ticket"])
    for kind, values in own.world.charter.scope.items():
        assert values <= set(own.things[kind])
    assert len(own.things["case"]) > 1, "another incident's case can be named"


def test_the_policy_is_asked_by_the_very_gateway_of_a_trial() -> None:
    """A sample of calls, each as a whole trial in which every reading tool was asked about everything before."""
    own = ground()
    library = own.library
    every = {course: [one for one in tried(Level.L5) if one.outcome is course] for course in Course}
    sample = [one for some in every.values() for one in random.Random(7).sample(some, min(15, len(some)))]
    differing = []
    for found in sample:
        state = TrialState("full", own.ample.fork(), own.registry, Identity("reach", "", "scripted"), 5, Draft())
        state.evidence = {piece.id: piece for piece in library.pieces}
        state.handed = [*library.texts]
        point = guarded_point(state, KEY, Control(lab().engine(), Absent()))
        result = point.call(found.call.tool, dict(found.call.arguments))
        outcome = _outcome(result.denied, result.recorded)
        if outcome is not found.outcome:
            differing.append((found.call, found.outcome, outcome))
    assert differing == []
    assert {one.outcome for one in sample} == {Course.DENIED, Course.ASKS, Course.UNATTENDED}


def _outcome(denied: tuple[str, ...], recorded: bool) -> Course:
    if denied == ("approver",):
        return Course.ASKS
    if denied:
        return Course.DENIED
    return Course.RECORDED if recorded else Course.UNATTENDED


def test_a_kept_decision_is_the_one_that_the_engine_gives() -> None:
    known = asker().known
    assert known is not None
    for at in random.Random(3).sample(range(len(ground().calls)), 40):
        document = question(ground(), ground().calls[at], 5, known)
        assert asker().decide(document) == lab().engine().decide(document)


def test_names_that_a_policy_knows_are_never_exchanged() -> None:
    known = frozenset({"act", "example.org"})
    one = {"a": "act", "b": "alex", "c": ["alex", "x@example.org"], "n": 3}
    assert alike(one, known) == alike({"a": "act", "b": "mo", "c": ["mo", "y@example.org"], "n": 3}, known)
    for name, value in (("a", "note"), ("c", ["mo", "x@example.org"]), ("c", ["alex", "x@example.net"]), ("n", 4)):
        assert alike(one, known) != alike({**one, name: value}, known)


def test_a_policy_that_looks_into_names_is_asked_every_question(tmp_path: Path) -> None:
    from pytest_soclab.policy.load import load_policy

    looks = policy(tmp_path, ("people.rego", "roles_given if input.people.without_role == []",
                              'roles_given if startswith(input.tool.name, "cases")'))  # fmt: skip
    assert constants(load_policy(looks)) is None


@pytest.mark.parametrize("level", [Level.L4, Level.L5])
def test_nothing_forbidden_happens_under_the_bundled_policy(level: Level) -> None:
    found = reach(ground(), asker(), level, "here")
    assert (found.forbidden, found.tried) == (0, found.spanned)
    endorsed = [t for t in tried(level) if t.standing is Standing.ENDORSED and t.outcome is not Course.DENIED]
    assert endorsed, "a policy that denies all would pass as well"


def test_below_l4_nothing_is_executed() -> None:
    acts = [one for one in tried(Level.L3) if any(not action.note for action in one.actions)]
    assert {one.outcome for one in acts} == {Course.DENIED, Course.RECORDED}


LOOSENED = {
    "a change runs unattended whatever it hits": (
        "L5", ("approval.rego", "\tevery target in targets { low_risk(target) }\n", ""),
    ),
    "L4 counts as L5": ("L4", ("approval.rego", "\tinput.level == 5\n", "\tinput.level >= 4\n")),
    "L3 executes": ("L3", ("obligations.rego", "may_execute if input.level >= 4", "may_execute if input.level >= 3")),
    "a silenced detection is enabled": ("L5", ("approval.rego", "\ttarget.declared == false\n", "")),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOSENED)
def test_a_loosened_policy_is_caught(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    level, edit = LOOSENED[name]
    incident = SABOTAGE if "detection" in name else SMALL
    assert main(["policy", "reach", "--level", level, "--policies", str(policy(tmp_path, edit)), str(incident)]) == 1
    said = capsys.readouterr().out
    assert "let the policy" in said
    assert "forbidden or impossible" in said


def test_a_policy_that_denies_the_response_is_caught(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = policy(tmp_path, ("scope.rego", "most := settings.blast_radius.addresses", "most := 0"))
    assert main(["policy", "reach", "--policies", str(own), str(SMALL)]) == 1
    assert "endorsed, and impossible in one response: identity.revoke_sessions" in capsys.readouterr().out


def test_it_is_an_item_a_gate_and_a_line(corpus: Corpus) -> None:
    result = corpus.run("scenarios/incidents", reach=True)
    result.assert_outcomes(passed=1)
    result.stdout.re_match_lines([r"reach +[1-9],\d{3} of [1-9],\d{3} calls of 1 incident: .* denied, .*"])
    (found,) = corpus.results()["reach"]
    assert found["nodeid"] == "scenarios/incidents/identity-compromise.yaml::reach[L4]"
    assert sum(row["count"] for row in found["counts"]) == found["tried"] == found["spanned"]
    assert [gate["status"] for gate in corpus.results()["gates"] if gate["name"] == "reach"] == ["passed"]


def test_a_failed_reach_fails_its_gate(corpus: Corpus) -> None:
    own = corpus.policy(replace=("\tinput.level == 5\n", "\tinput.level >= 4\n"))
    result = corpus.run("scenarios/incidents", f"--soclab-policies={own}", reach=True)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*at L4 no change runs unattended: let the policy deny it or ask a human*"])
    assert [gate["status"] for gate in corpus.results()["gates"] if gate["name"] == "reach"] == ["failed"]


def test_what_is_not_tried_is_undecided(corpus: Corpus) -> None:
    corpus.run()
    (gate,) = [gate for gate in corpus.results()["gates"] if gate["name"] == "reach"]
    assert (gate["status"], gate["why"]) == ("undecided", "not every call was tried of identity-compromise")


def test_an_unfinished_reach_has_not_passed() -> None:
    none = Reach(incident="x", level=Level.L4, nodeid="x", tried=0, spanned=0)
    assert not none.passed
    assert not none.model_copy(update={"spanned": 2, "tried": 1}).passed
    assert none.model_copy(update={"spanned": 2, "tried": 2}).passed
