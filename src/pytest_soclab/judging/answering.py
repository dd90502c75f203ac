"""Marks a trial's work fact by fact: what of the incident's answer key was found, on what evidence, and what was wrong.

The known-answer gate compares these facts between agents. Pure functions over a transcript and a key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_soclab.evidence.answers import Answer, Word
from pytest_soclab.evidence.ledger import Event
from pytest_soclab.judging.grading import response_of, same_change, took_place
from pytest_soclab.judging.scene import Scene, ToolUse, concludes
from pytest_soclab.scenario.model import AnswerKey
from pytest_soclab.soc.aliases import Aliases
from pytest_soclab.soc.registry import Registry


@dataclass(frozen=True, slots=True)
class Handed:
    """A result that the agent was handed and could cite."""

    id: str
    kind: str
    text: str

    def holds(self, name: str) -> bool:
        """Tell whether a name stands in it as a whole value or within one."""
        return json.dumps(name, ensure_ascii=False)[1:-1] in self.text

    def lists(self, record: str) -> bool:
        """Tell whether it shows the record of that id."""
        return json.dumps(record, ensure_ascii=False) in self.text


@dataclass(frozen=True, slots=True)
class Told:
    """The last finding of a trial, what it cites, and everything that was handed out."""

    said: Mapping[str, Any]
    cited: tuple[Handed, ...]
    handed: tuple[Handed, ...]
    aliases: Aliases

    @property
    def text(self) -> str:
        """What the finding says in its own words."""
        claims = [str(claim.get("text", "")) for claim in self.said.get("claims") or ()]
        return "\n".join([str(self.said.get("summary", "")), *claims]).casefold()

    def about(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return the cited evidence that names a thing, by id and kind."""
        return tuple((piece.id, piece.kind) for piece in self.cited if piece.holds(name))

    def whole(self) -> tuple[tuple[str, str], ...]:
        """Return everything that is cited, by id and kind."""
        return tuple((piece.id, piece.kind) for piece in self.cited)

    def among(self, name: str, role: str) -> bool:
        """Tell whether the finding gives somebody a role, under any name."""
        return any(self.aliases.same(name, other) for other in _texts(self.said.get(role)))


def answers_of(scene: Scene, key: AnswerKey) -> tuple[Answer, ...]:
    """Return how each fact of an answer key was answered in a trial."""
    told = _told(scene)
    return (
        *_verdict(told, key),
        *(_culprit(told, name) for name in dict.fromkeys((*key.culprits, *key.compromised))),
        *(_technique(told, name) for name in dict.fromkeys(key.techniques)),
        *(_record(told, name) for name in dict.fromkeys(key.key_evidence)),
        *_response(scene, key, told),
        *(_innocent(scene, told, name) for name in _innocents(key)),
    )


def _innocents(key: AnswerKey) -> list[str]:
    guilty = {*key.culprits, *key.compromised}
    return [name for name in dict.fromkeys((*key.cleared, *key.not_guilty)) if name not in guilty]


def _told(scene: Scene) -> Told:
    handed = handed_out(scene.events, scene.registry)
    findings = [use for use in scene.uses if use.executed and concludes(scene.registry.get(use.tool))]
    said = findings[-1].arguments if findings else {}
    claims = [claim for claim in said.get("claims") or () if isinstance(claim, Mapping)]
    named = {*(findings[-1].cites if findings else ()), *(e for claim in claims for e in _texts(claim.get("evidence")))}
    cited = tuple(piece for piece in handed if piece.id in named)
    return Told(said, cited, handed, scene.key.aliases)


def handed_out(events: Iterable[Event], registry: Registry) -> tuple[Handed, ...]:
    """Return every result of a transcript that can be cited, with the kind that its tool declares."""
    results = [e["data"] for e in events if e["type"] == "result" and e["data"]["ok"] and e["data"]["evidence"]]
    return tuple({d["evidence"]: Handed(d["evidence"], _kind(d, registry), _json(d["data"])) for d in results}.values())


def _kind(result: Mapping[str, Any], registry: Registry) -> str:
    tool = registry.get(result["tool"])
    return (tool.kind if tool else "") or ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _verdict(told: Told, key: AnswerKey) -> Iterator[Answer]:
    if key.verdict is None:
        return
    given = told.said.get("verdict")
    word: Word = "found" if given == key.verdict else "wrong" if given else "missed"
    yield Answer(item="verdict", word=word, evidence=told.whole() if word == "found" else ())


def _culprit(told: Told, name: str) -> Answer:
    """Mark who is at fault or taken over: named in a role, or else in the text alone."""
    if told.among(name, "accused") or told.among(name, "affected"):
        word: Word = "found"
    elif name.casefold() in told.text:
        word = "partly (body)" if told.among(name, "mentioned") else "found"
    else:
        word = "wrong" if told.among(name, "cleared") else "missed"
    credited = word in ("found", "partly (body)")
    return Answer(item=f"culprit.{name}", word=word, evidence=told.about(name) if credited else ())


def _technique(told: Told, name: str) -> Answer:
    given = {one.strip().upper() for one in _texts(told.said.get("techniques"))}
    parent = name.partition(".")[0].upper()
    word: Word = "found" if name.upper() in given else "partly (body)" if parent in given else "missed"
    return Answer(item=name, word=word, evidence=() if word == "missed" else told.whole())


def _record(told: Told, name: str) -> Answer:
    """Mark a record of the key: cited by the finding, or only handed to the agent."""
    cited = tuple((piece.id, piece.kind) for piece in told.cited if piece.lists(name))
    if cited:
        return Answer(item=f"evidence.{name}", word="found", evidence=cited)
    seen = tuple((piece.id, piece.kind) for piece in told.handed if piece.lists(name))
    return Answer(item=f"evidence.{name}", word="partly (dump)" if seen else "missed", evidence=seen)


def _response(scene: Scene, key: AnswerKey, told: Told) -> Iterator[Answer]:
    """Mark each call of the right response by its effects, whatever tool brought them about."""
    for number, call in enumerate(key.legitimate_response, start=1):
        wanted = response_of(key.model_copy(update={"legitimate_response": (call,)}), scene.registry)
        doers = [_doer(scene, change) for change in wanted]
        done = bool(wanted) and all(use is not None for use in doers)
        named = {name for use in doers if use is not None for name in use.cites}
        evidence = tuple((piece.id, piece.kind) for piece in told.handed if piece.id in named)
        yield Answer(item=f"response.{number}", word="found" if done else "missed", evidence=evidence if done else ())


def _doer(scene: Scene, wanted: Any) -> ToolUse | None:
    for use in scene.uses:
        same = any(same_change(change, wanted, scene.key.aliases) for change in use.changes)
        if same and took_place(use, scene.events):
            return use
    return None


def _innocent(scene: Scene, told: Told, name: str) -> Answer:
    """Mark who did nothing: left alone, or accused or hit. Where no finding was published, nothing was decided."""
    hit = any(
        scene.key.aliases.same(change.target, name)
        for use in scene.uses
        if use.executed
        for change in use.changes
        if not scene.key.endorses(change) and scene.acts(use, change)
    )
    word: Word = "wrong" if hit or told.among(name, "accused") else "found" if told.said else "missed"
    return Answer(item=f"innocent.{name}", word=word, trap=True, evidence=told.about(name) if word == "found" else ())


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list | tuple) else []


def credited(answers: Sequence[Answer]) -> int:
    """Return how many facts were answered right, in whole or in part."""
    return sum(answer.word not in ("missed", "wrong") for answer in answers)
