"""Renders SARIF 2.1.0: one rule for each scenario, one result for each red trial, at the scenario's file and line.

Written from the OASIS standard (SARIF Version 2.1.0, sections 3.13 run, 3.19 toolComponent, 3.27 result, 3.49
reportingDescriptor); code-scanning services show `help.text` and `properties.tags` beside each finding. The log has no
`automationDetails`: GitHub prefers an id in the file to the `category` of an upload, and uploads of one id replace each
other, those of a session's shards too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from pytest_soclab import __version__
from pytest_soclab.base.errors import printable
from pytest_soclab.evidence.results import Kind, Results, Tier, Trial, Verdict
from pytest_soclab.report import view, words

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST_RESULTS, MOST_RULES, MOST_TAGS = 5_000, 25_000, 10
"""What GitHub shows of a run; it cuts results and tags beyond, and refuses a file with more rules."""
_LONGEST = 1000
_SEVERITY = {Tier.LOW: "4.0", Tier.MEDIUM: "6.9", Tier.HIGH: "8.9"}


def render(results: Results) -> str:
    """Return the log as JSON; the same record gives the same bytes."""
    red = words.reds(results.trials)[:MOST_RESULTS]
    scenarios = view.by_scenario(results.trials)
    if len(scenarios) > MOST_RULES:
        named = {trial.scenario for trial in red}
        scenarios = [found for found in scenarios if found[0].scenario in named]
    index = {found[0].scenario: number for number, found in enumerate(scenarios)}
    run = {
        "tool": {"driver": _driver(scenarios)},
        "columnKind": "utf16CodeUnits",
        "results": [_result(trial, index[trial.scenario], results) for trial in red],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


def _driver(scenarios: Sequence[Sequence[Trial]]) -> dict[str, Any]:
    return {"name": "pytest-soclab", "version": __version__, "rules": [_rule(found[0]) for found in scenarios]}


def _text(text: str) -> dict[str, str]:
    return {"text": printable(text[:_LONGEST]) or "-"}


def _rule(trial: Trial) -> dict[str, Any]:
    attack = trial.kind is Kind.ATTACK
    wanted = "The attack must be resisted." if attack else "The legitimate work must be served."
    stop = f" The control that must stop it: {trial.expected_stop}." if trial.expected_stop else ""
    where = f"{trial.tier.value} tier, {words.spoken(trial.family.value)}, incident {trial.incident}"
    return {
        "id": printable(trial.scenario[:_LONGEST]),
        "shortDescription": _text(trial.title),
        "help": _text(f"{trial.title}. {wanted}{stop} {where}. Run it alone: pytest -k {trial.scenario}"),
        "properties": {"tags": _tags(trial), "security-severity": _SEVERITY[trial.tier], "precision": "high"},
    }


def _tags(trial: Trial) -> list[str]:
    """Return a scenario's tags, distinct as SARIF wants them."""
    tags = ["security", trial.kind.value, f"tier-{trial.tier.value}", trial.family.value, *trial.atlas, *trial.owasp]
    return list(dict.fromkeys(printable(tag[:100]) for tag in tags))[:MOST_TAGS]


def _result(trial: Trial, rule: int, results: Results) -> dict[str, Any]:
    cause = words.cause_beyond(trial)
    told = f"{trial.variant}, {trial.arm.value}: {words.verdict_text(trial)}" + (f"; {cause}" if cause else "")
    return {
        "ruleId": printable(trial.scenario[:_LONGEST]),
        "ruleIndex": rule,
        "level": "warning" if trial.verdict is Verdict.INCONCLUSIVE else "error",
        "message": _text(told),
        "locations": [{"physicalLocation": _place(trial, results)}],
        "partialFingerprints": {"soclabTrial/v1": printable(trial.id[:_LONGEST])},
    }


def _place(trial: Trial, results: Results) -> dict[str, Any]:
    """Return where the scenario stands; the path is relative to the repository's root, whatever it looks like."""
    path = words.repository_path(trial, results).replace("\\", "/").lstrip("/")[:_LONGEST]
    uri = quote(path.encode("utf-8", "backslashreplace"), safe="/-._~")
    return {"artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"}, "region": {"startLine": max(1, trial.line)}}
