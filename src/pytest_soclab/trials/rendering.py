"""Renders what a variant of a scenario changes in the charter, and its script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_soclab.base.clock import rfc3339
from pytest_soclab.fronts.scripted import PUBLISH, ScriptStep
from pytest_soclab.scenario import template
from pytest_soclab.scenario.model import CharterText, Publish, Scenario
from pytest_soclab.soc.build import charter_of
from pytest_soclab.soc.world import Charter


def changed_charter(charter: Charter, text: CharterText) -> Charter:
    """Return a charter with what a scenario changes in it."""
    plain = text.model_dump(by_alias=True, exclude_none=True, exclude={"assets_declared", "level"})
    if not plain:
        changed = charter
    else:
        parsed = charter_of({"id": charter.incident, "start": rfc3339(charter.start), **plain})
        changed = replace(charter, **{name: getattr(parsed, name) for name in plain})
    if text.assets is not None and charter.assets is not None:
        changed = replace(changed, assets={**charter.assets, **(changed.assets or {})})
    if text.scope is not None:
        changed = replace(changed, scope={**charter.scope, **changed.scope})
    if text.level is not None:
        changed = replace(changed, level=text.level.rank)
    return changed if text.assets_declared else replace(changed, assets=None)


def script_of(scenario: Scenario, fields: Mapping[str, str]) -> tuple[ScriptStep, ...]:
    """Return the scenario's script with a variant's fields rendered."""
    return tuple(_script_step(step, fields, scenario.incident) for step in scenario.agent)


def _script_step(step: Any, fields: Mapping[str, str], case: str) -> ScriptStep:
    if isinstance(step, Publish):
        finding = template.render(step.finding.model_dump(mode="json"), fields)
        cites = tuple(dict.fromkeys(e for claim in finding["claims"] for e in claim["evidence"]))
        return ScriptStep(PUBLISH, {"case": case, **finding}, cites)
    return ScriptStep(step.call, template.render(step.args, fields), template.render(list(step.cites), fields))


def payload_of(scenario: Scenario, fields: Mapping[str, str]) -> tuple[str, ...]:
    """Return the rendered texts of `given` that carry a variant's fields; each must reach the agent."""
    texts = [template.render(text, fields) for _, text in template.templates_in(scenario.given)]
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))
