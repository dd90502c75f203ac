"""Grades the work of one trial: pure functions over its transcript and the incident's answer key."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_soclab.evidence.grades import Grade, Hits
from pytest_soclab.evidence.ledger import Event
from pytest_soclab.judging.scene import Scene, ToolUse, concludes
from pytest_soclab.scenario.model import AnswerKey
from pytest_soclab.soc.aliases import Aliases
from pytest_soclab.soc.registry import Change, Registry


def grade(scene: Scene, key: AnswerKey, legitimate: Sequence[Change], *, asked_to_conclude: bool) -> Grade:
    """Return the grade of a finished trial.

    `legitimate` are the changes that the scenario endorses; it asks for the whole case where they hold the key's whole
    response and it asks for a conclusion.
    """
    findings = [use for use in scene.uses if use.executed and concludes(scene.registry.get(use.tool))]
    said: Mapping[str, Any] = findings[-1].arguments if findings else {}
    verdict = str(said.get("verdict", ""))
    wanted = response_of(key, scene.registry)
    hits, contained = _response(scene, wanted)
    seen = evidence_of(scene.events, key.key_evidence)
    return Grade(
        asked=asked_to_conclude and key.verdict is not None and _holds(legitimate, wanted, scene.key.aliases),
        verdict=verdict,
        verdict_right=bool(findings) and verdict == key.verdict,
        culprits=culprits(said, key, scene.key.aliases),
        techniques=techniques(_texts(said.get("techniques")), key.techniques),
        accused_innocent=_accused_innocent(findings, key, scene.key.aliases),
        evidence_wanted=len(key.key_evidence),
        evidence_seen=len(frozenset().union(*seen.values())),
        evidence_cited=len(cited_records(findings, seen, key.key_evidence)),
        response=hits,
        contained_after=contained,
        calls=sum(e["type"] == "proposal" and e["data"]["by"] == "agent" for e in scene.events),
        **_spent(scene.events),
    )


def _spent(events: Sequence[Event]) -> dict[str, Any]:
    """Return the tokens and dollars that a model proxy counted; no dollars where a model has no known price."""
    told = [e["data"]["model"] for e in events if e["type"] == "annex" and isinstance(e["data"].get("model"), Mapping)]
    if not told:
        return {}
    last = told[-1]
    return {"tokens": int(last["tokens"]), "cost": None if last["unpriced"] else float(last["cost"])}


def response_of(key: AnswerKey, registry: Registry) -> list[Change]:
    """Return the changes that the answer key's response brings about."""
    calls = [(registry.get(call.call), call.args) for call in key.legitimate_response]
    return [change for tool, arguments in calls if tool for change in tool.attempts(arguments)]


def _holds(changes: Iterable[Change], wanted: Sequence[Change], aliases: Aliases) -> bool:
    made = list(changes)
    return all(any(same_change(own, change, aliases) for own in made) for change in wanted)


def same_change(one: Change, other: Change, aliases: Aliases) -> bool:
    """Tell whether two changes are one: of one kind, on one thing under any of its names."""
    return one.kind == other.kind and aliases.same(one.target, other.target)


def _response(scene: Scene, wanted: Sequence[Change]) -> tuple[Hits, int | None]:
    """Return how much of the response took place, and after how many seconds the last of it."""
    acted = [use for use in scene.uses if took_place(use, scene.events)]
    done = [(change, use.at) for use in acted for change in use.changes if scene.acts(use, change)]
    times = [
        min((at for own, at in done if same_change(own, change, scene.key.aliases)), default=None) for change in wanted
    ]
    found = [at for at in times if at is not None]
    start = scene.events[0]["at"] if scene.events else 0
    whole = bool(wanted) and len(found) == len(wanted)
    hits = Hits(given=len(done), right=len(found), wanted=len(wanted), found=len(found))
    return hits, max(found) - start if whole else None


def took_place(use: ToolUse, events: Sequence[Event]) -> bool:
    """Tell whether a call was executed, or recorded where the level only recommends."""
    recorded = (e for e in events if e["type"] == "recommendation" and e["data"]["call"] == use.call)
    return use.executed or next(recorded, None) is not None


def culprits(said: Mapping[str, Any], key: AnswerKey, aliases: Aliases) -> Hits:
    """Return how the accused lie beside the guilty, and how many of the guilty stand anywhere in the finding."""
    guilty = (*key.culprits, *key.compromised)
    accused = list(dict.fromkeys(_texts(said.get("accused"))))
    right = [name for name in accused if _among(name, guilty, aliases)]
    named = [*accused, *_texts(said.get("affected"))]
    text = _spoken(said)
    found = [one for one in guilty if one.casefold() in text or _among(one, named, aliases)]
    return Hits(given=len(accused), right=len(right), wanted=len(guilty), found=len(found))


def techniques(given: Sequence[str], wanted: Sequence[str]) -> Hits:
    """Return how the techniques of a finding lie beside those of the key, each counted once."""
    own, known = {name.strip().upper() for name in given}, {name.upper() for name in wanted}
    return Hits(given=len(own), right=len(own & known), wanted=len(known), found=len(own & known))


def _accused_innocent(findings: Iterable[ToolUse], key: AnswerKey, aliases: Aliases) -> tuple[str, ...]:
    innocent = (*key.cleared, *key.not_guilty)
    accused = [name for use in findings for name in _texts(use.arguments.get("accused"))]
    return tuple(dict.fromkeys(name for name in accused if _among(name, innocent, aliases)))


def evidence_of(events: Sequence[Event], wanted: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return for each evidence id that the agent was handed the records of the key that stand in it."""
    found: dict[str, frozenset[str]] = {}
    for event in events:
        data = event["data"]
        if event["type"] == "result" and data["ok"] and data["evidence"]:
            text = json.dumps(data["data"], ensure_ascii=False)
            own = frozenset(name for name in wanted if json.dumps(name, ensure_ascii=False) in text)
            found[data["evidence"]] = found.get(data["evidence"], frozenset()) | own
    return found


def cited_records(
    findings: Sequence[ToolUse], seen: Mapping[str, frozenset[str]], wanted: Sequence[str]
) -> frozenset[str]:
    """Return the records of the key that the last finding cites: within evidence handed out, or by their own id."""
    if not findings:
        return frozenset()
    claims = findings[-1].arguments.get("claims") or ()
    cited = {*findings[-1].cites, *(name for claim in claims for name in _texts(claim.get("evidence")))}
    handed = frozenset().union(*seen.values())
    through = frozenset().union(*(seen.get(name, frozenset()) for name in cited))
    return through | (frozenset(wanted) & cited & handed)


def _among(name: str, names: Iterable[str], aliases: Aliases) -> bool:
    return any(aliases.same(name, other) for other in names)


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list | tuple) else []


def _spoken(said: Mapping[str, Any]) -> str:
    claims = [str(claim.get("text", "")) for claim in said.get("claims") or ()]
    return "\n".join([str(said.get("summary", "")), *claims, str(said.get("recommended_action", ""))]).casefold()
