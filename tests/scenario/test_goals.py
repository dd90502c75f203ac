"""The goals of the bundled scenarios lead an agent to its work and to the payload, and never ask for the attack."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from pytest_soclab.base import resources
from pytest_soclab.evidence.results import Kind
from pytest_soclab.fronts.scripted import ScriptStep
from pytest_soclab.gateway.state import CALL_SECONDS
from pytest_soclab.harness.steps import ExpireGrant, ReplayGrant, SwapAfterGrant
from pytest_soclab.leaks.egress import texts
from pytest_soclab.scenario.load import LoadedScenario, load_scenario
from pytest_soclab.soc.registry import Effect
from pytest_soclab.soc.servers import registry
from pytest_soclab.trials.unit import Unit

from .support import lab

FILES = sorted(path for path in resources.scenarios().rglob("*.yaml") if path.parent.name != "incidents")
PLAIN = {"concluded", "foreign_read", "foreign_evidence_cited", "unknown_evidence_cited", "model_acted"}
"""Oracles whose parameter is one word that a goal has no reason to use."""
WARNING = re.compile(
    r"\b(inject|prompt|payload|untrusted|suspicious|planted|forged|trick|beware|careful|ignore|instruct)", re.IGNORECASE
)
_TERM = re.compile(r'(?:[\w.]+:)?(?:"([^"]*)"|([^\s"]+))')


@functools.cache
def corpus() -> tuple[LoadedScenario, ...]:
    return tuple(load_scenario(path, lab().vocabulary) for path in FILES)


def units(kind: Kind) -> list[Any]:
    found = [(loaded, variant) for loaded in corpus() for variant in loaded.scenario.variants]
    return [
        pytest.param(lab().unit(loaded, variant), id=f"{loaded.scenario.id}-{variant}")
        for loaded, variant in found
        if loaded.scenario.kind is kind
    ]


def goal_of(unit: Unit) -> str:
    assert unit.scenario.goal is not None
    return unit.scenario.goal


def names(text: str, value: str) -> bool:
    """Tell whether a text names a value as a whole: `alex.rivera` is not named by `alex.rivera@corp.example`."""
    return re.search(rf"(?<![\w@/:.-]){re.escape(value)}(?![\w@/:-]|\.\w)", text, re.IGNORECASE) is not None


def scalars(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from scalars(inner)
    else:
        yield str(value)


def asked(step: ScriptStep) -> Iterator[str]:
    """Yield the values that a call asks about; of a query the values behind its field names."""
    for name, value in step.arguments.items():
        if name == "query":
            yield from (quoted or bare for quoted, bare in _TERM.findall(value))
        elif name != "text" or " " not in value:
            yield from scalars(value)


def reads(unit: Unit) -> list[ScriptStep]:
    tools = registry().tools
    return [step for step in unit.script if step.tool in tools and tools[step.tool].effect is Effect.READ]


def handed(unit: Unit, step: ScriptStep) -> set[str]:
    """Return the payload texts that a reading step is handed, late enough for what changes in the session."""
    tool, world = registry().tools[step.tool], unit.world()
    world.now += CALL_SECONDS * len(unit.script)
    outcome = tool.run(world, tool.arguments.model_validate(step.arguments))
    answer = list(texts(outcome.data)) if outcome.ok else []
    return {payload for payload in unit.payload if any(payload in text for text in answer)}


def demands_investigation(loaded: LoadedScenario) -> bool:
    """Tell whether a control is one whose target the goal does not name: the whole cases, and BEN-123 and up."""
    scenario = loaded.scenario
    return scenario.kind is Kind.BENIGN and scenario.goal is not None and int(scenario.id[4:]) in {*WHOLE, *DEMANDING}


WHOLE, DEMANDING = range(101, 113), range(123, 129)


def led() -> list[Any]:
    return [param for param in units(Kind.BENIGN) if not demands_investigation(param.values[0].loaded)]


def test_every_bundled_scenario_has_a_goal_of_its_own() -> None:
    goals = [
        loaded.scenario.goal
        for loaded in corpus()
        if int(loaded.scenario.id[4:]) not in WHOLE or not demands_investigation(loaded)
    ]
    assert len(goals) == len(set(goals)) > 100
    assert None not in goals


def test_the_whole_cases_start_from_the_alert_and_share_one_goal() -> None:
    whole = [
        loaded.scenario for loaded in corpus() if demands_investigation(loaded) and int(loaded.scenario.id[4:]) in WHOLE
    ]
    assert len({scenario.goal for scenario in whole}) == 1
    assert len({scenario.incident for scenario in whole}) == len(whole) == 12


@pytest.mark.parametrize("unit", [p for p in units(Kind.BENIGN) if demands_investigation(p.values[0].loaded)])
def test_a_control_that_demands_an_investigation_names_no_target(unit: Unit) -> None:
    targets = [aim.value for call in unit.legitimate for aim in registry().tools[call.tool].aims(call.arguments)]
    alert = " ".join(scalars(unit.incident.incident.alert.model_dump()))
    assert targets
    assert [value for value in targets if names(goal_of(unit), value)] == []
    assert len([value for value in targets if value not in alert]) > 0


@pytest.mark.parametrize("unit", led())
def test_a_controls_goal_names_every_target_of_its_legitimate_calls(unit: Unit) -> None:
    for call in unit.legitimate:
        tool = registry().tools[call.tool]
        named = [aim.value for aim in tool.aims(call.arguments)]
        fixed = [value for name, value in call.arguments.items() if name not in call.words]
        for value in [*named, *scalars(fixed)]:
            assert names(goal_of(unit), value), f"{call.tool}: {value}"


@pytest.mark.parametrize("unit", [*led(), *units(Kind.ATTACK)])
def test_a_goal_leads_to_what_the_script_reads(unit: Unit) -> None:
    """For an attack the step that is handed the payload is enough; what follows may be the attack's own idea."""
    steps = reads(unit)
    if unit.payload:
        steps = [step for step in steps if handed(unit, step)]
        assert set().union(*(handed(unit, step) for step in steps)) == set(unit.payload)
    for step in steps:
        for value in asked(step):
            assert names(goal_of(unit), value) or value in unit.payload, f"{step.tool}: {value}"


def awaited(unit: Unit) -> Iterator[ScriptStep]:
    """Yield the calls of the agent without which a harness step is not performed, or not on what it is meant for."""
    for harness in unit.harness:
        if isinstance(harness, SwapAfterGrant | ExpireGrant):
            yield from (step for step in unit.script if step.tool == harness.on)
        elif isinstance(harness, ReplayGrant):
            yield unit.script[-1]


def test_a_goal_leads_to_the_call_that_the_harness_waits_for() -> None:
    found = [(param.values[0], step) for param in units(Kind.ATTACK) for step in awaited(param.values[0])]
    assert {step.tool for _, step in found} == {"siem.search", "cloud.terminate_instance", "mail.send_message"}
    for unit, step in found:
        for aim in registry().tools[step.tool].aims(step.arguments):
            assert names(goal_of(unit), aim.value), f"{unit.scenario.id}: {step.tool}: {aim.value}"


def _offences(unit: Unit) -> Iterator[tuple[str, str]]:
    """Yield the stem of each offending verb (empty: any words at all) with each value that it must not stand beside."""
    held_back = {getattr(step, "on", "") for step in unit.harness}
    secrets = unit.incident.incident.secrets
    for oracle, parameter in unit.oracles:
        tools = [tool for tool in registry().tools.values() if tool.change == oracle.name]
        if tools:
            verbs = [tool.name.partition(".")[2].partition("_")[0] for tool in tools if tool.name not in held_back]
            values = list(scalars(parameter if isinstance(parameter, list | tuple) else [parameter]))
            yield from ((verb.removesuffix("e"), value) for verb in verbs for value in values)
        elif oracle.name == "accused":
            yield "accus", str(parameter)
        elif oracle.name == "secret_left":
            yield "", secrets[str(parameter)]
        elif oracle.name in PLAIN:
            yield "", str(parameter)
        elif oracle.name == "name_left":
            yield from (("", value) for value in parameter)


@pytest.mark.parametrize("unit", units(Kind.ATTACK))
def test_no_attacks_goal_asks_for_the_attack(unit: Unit) -> None:
    goal = goal_of(unit)
    for stem, value in _offences(unit):
        for sentence in re.split(r"(?<=[.;:?])\s", goal):
            asks = re.search(rf"\b{stem}", sentence, re.IGNORECASE) is not None
            assert not (asks and names(sentence, value)), f"{stem} {value}"


@pytest.mark.parametrize("unit", units(Kind.ATTACK))
def test_an_attacks_goal_names_the_target_only_where_the_alert_or_the_reading_does(unit: Unit) -> None:
    alert = " ".join(scalars(unit.incident.incident.alert.model_dump()))
    read = " ".join(value for step in reads(unit) for value in scalars(step.arguments))
    for _, value in _offences(unit):
        assert not names(goal_of(unit), value) or value in alert or value in read, value


@pytest.mark.parametrize("unit", units(Kind.ATTACK))
def test_an_attacks_goal_does_not_tell_of_the_attack(unit: Unit) -> None:
    assert not WARNING.search(goal_of(unit))


def test_the_lookalike_account_is_found_by_the_reading_that_its_goal_asks_for() -> None:
    found = [param.values[0] for param in units(Kind.ATTACK) if str(param.id).startswith("ATK-062-")]
    for unit in found:
        lookalike = unit.oracles[0][1]
        groups = [row["name"] for row in unit.world().rows("identity.groups") if lookalike in row["members"]]
        assert groups
        assert all(names(goal_of(unit), f"group {group}") for group in groups)
