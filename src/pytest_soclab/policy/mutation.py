"""Loosens and tightens a policy piece by piece, to see whether anything notices.

A mutant is the policy with one change: a condition dropped or inverted, a rule gone (an obligation, a reason, one way
to prove something), a number shifted, an element of a list or set gone, in Rego or in the data, or one more kind of
change that runs unattended. It is noticed when some known question gets another outcome or other obligations, or
loses the reason that its scenario expects.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pytest_soclab.base.clock import monotonic
from pytest_soclab.base.errors import PolicyError, PolicyUnavailable
from pytest_soclab.policy.embedded import EmbeddedEngine
from pytest_soclab.policy.load import source_of
from pytest_soclab.policy.model import Decision, Engine, PolicySource
from pytest_soclab.policy.rego_parser import parse_tree
from pytest_soclab.policy.rego_tree import (
    Binary,
    Collection,
    Holds,
    Literal,
    Node,
    Not,
    Place,
    Scalar,
    Tree,
    TreeRule,
    nodes,
)

_WIDENED = ("soclab", "settings", "unattended", "changes")
"""Where the data lists what runs unattended."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A policy with one change: which file and line, and what was done there."""

    place: str
    change: str
    modules: Mapping[str, str]
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """An input of the policy, and the reason that the scenario expects to be among those of a denial."""

    input: Mapping[str, Any]
    expected_stop: str = ""


@dataclass(frozen=True, slots=True)
class Adequacy:
    """What noticed the mutants: how many were, which were not, which do not load, and which there was no time for."""

    noticed: int
    survivors: Sequence[Mutant]
    invalid: int
    untried: int
    by_tests: int = 0
    """How many of the noticed ones the policy's own tests noticed, so that no question was put."""

    @property
    def share(self) -> float:
        """How many of those that were tried were noticed."""
        tried = self.noticed + len(self.survivors)
        return self.noticed / tried if tried else 0.0


def mutants(source: PolicySource, kinds: Sequence[str] = ()) -> Iterator[Mutant]:
    """Yield every mutant of a policy; `kinds` are the kinds of change that there are."""
    for name, text in sorted(source.modules.items()):
        for at, new, change in dict.fromkeys(_edits(parse_tree(name, text))):
            changed = {**source.modules, name: text[: at.start] + new + text[at.end :]}
            yield Mutant(f"{name}:{at.line}", change, changed, source.data)
    for path, data, change in _data_edits(source.data, kinds):
        yield Mutant(f"data: {path}", change, source.modules, data)


_Edit = tuple[Place, str, str]


def _edits(tree: Tree) -> Iterator[_Edit]:
    for rule in tree.rules:
        if rule.kind != "default" and rule.branches:
            yield rule.at, "", f"the rule {rule.name} is gone"
        yield from _body_edits(rule, tree.text)
        for node in nodes(rule):
            yield from _value_edits(node, tree.text)


def _body_edits(rule: TreeRule, text: str) -> Iterator[_Edit]:
    for literal in _literals(rule):
        at = literal.at
        said = " ".join(text[at.start : at.end].split())
        yield at, "true", f"the condition `{said}` is gone"
        match literal:
            case Not(inner=inner):
                yield at, text[inner.at.start : inner.at.end], f"`{said}` is inverted"
            case Holds():
                yield at, f"not {text[at.start : at.end]}", f"`{said}` is inverted"


def _literals(rule: TreeRule) -> Iterator[Literal]:
    for branch in rule.branches:
        yield from branch.body
    for node in nodes(rule):
        yield from getattr(node, "body", ())


def _value_edits(node: Node, text: str) -> Iterator[_Edit]:
    match node:
        case Scalar(value=bool() as value):
            yield node.at, str(not value).lower(), f"{str(value).lower()} is {str(not value).lower()}"
        case Scalar(value=int() as value):
            yield from ((node.at, str(other), f"{value} is {other}") for other in (value - 1, value + 1) if other >= 0)
        case Binary(sign="<=" | ">=" | "<" | ">" as sign, left=left, right=right):
            other = {"<=": "<", ">=": ">", "<": "<=", ">": ">="}[sign]
            sides = text[left.at.start : left.at.end], text[right.at.start : right.at.end]
            yield node.at, f" {other} ".join(sides), f"{sign} is {other}"
        case Collection(items=items):
            for gone in items:
                kept = [text[item.at.start : item.at.end] for item in items if item is not gone]
                yield node.at, _written(node.kind, kept), f"{text[gone.at.start : gone.at.end]} is no longer listed"


def _written(kind: str, items: Sequence[str]) -> str:
    if kind == "array":
        return f"[{', '.join(items)}]"
    return f"{{{', '.join(items)}}}" if items else "set()"


def _data_edits(data: Mapping[str, Any], kinds: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    for path, value in _leaves(data, ()):
        shown = ".".join(map(str, path))
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield shown, _with(data, path, [*value[:index], *value[index + 1 :]]), f"{item!r} is no longer listed"
        elif isinstance(value, int) and not isinstance(value, bool):
            for other in (value - 1, value + 1):
                yield shown, _with(data, path, other), f"{value} is {other}"
        if path == _WIDENED:
            for kind in sorted(set(kinds) - set(value)):
                yield shown, _with(data, path, [*value, kind]), f"{kind} may run unattended"


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, (*path, name))
    else:
        yield path, value


def _with(data: Mapping[str, Any], path: Sequence[str], value: Any) -> Mapping[str, Any]:
    whole: dict[str, Any] = copy.deepcopy(dict(data))
    inner = whole
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return whole


def _derived(source: PolicySource) -> Engine:
    return EmbeddedEngine(source, tried=True)


def adequacy(
    source: PolicySource,
    questions: Iterable[Question],
    kinds: Sequence[str] = (),
    seconds: float = 600.0,
    *,
    sample: int = 0,
    own_tests: Callable[[Mutant], bool] | None = None,
    engine: Callable[[PolicySource], Engine] = _derived,
) -> Adequacy:
    """Return what the questions notice of every mutant, or of a `sample` of so many, as far as the time goes.

    With `own_tests` these are asked first, for they answer fastest; the questions are put where they miss a mutant.

    Raises:
        PolicyError: when the policy itself does not load.
    """
    end = monotonic() + seconds
    asked = _Asked(engine(source), questions)
    found: Counter[str] = Counter()
    survivors: list[Mutant] = []
    for mutant in spread(list(mutants(source, kinds)), sample):
        if monotonic() > end:
            found["untried"] += 1
            continue
        try:
            changed = engine(source_of(source.path, mutant.modules, mutant.data, source.names))
        except PolicyError:
            found["invalid"] += 1
            continue
        by = _noticed_by(mutant, changed, asked, own_tests)
        changed.close()
        found[by] += 1
        survivors += [] if by else [mutant]
    asked.close()
    noticed = found["tests"] + found["question"]
    return Adequacy(noticed, survivors, found["invalid"], found["untried"], found["tests"])


def _noticed_by(mutant: Mutant, changed: Engine, asked: _Asked, own_tests: Callable[[Mutant], bool] | None) -> str:
    """Return what notices a mutant, empty where nothing does."""
    if own_tests is not None and own_tests(mutant):
        return "tests"
    return "question" if asked.notice(changed) else ""


_Answered = tuple[Question, Decision | None]


class _Asked:
    """The questions with the policy's own decisions, put together when the first mutant needs them."""

    def __init__(self, whole: Engine, questions: Iterable[Question]) -> None:
        self._whole, self._questions = whole, questions

    @cached_property
    def _answered(self) -> list[_Answered]:
        return _varied([(question, _decide(self._whole, question)) for question in self._questions])

    def notice(self, changed: Engine) -> bool:
        """Tell whether a question is decided otherwise; it is asked first from then on."""
        at = _first_notice(changed, self._answered)
        if at is not None:
            self._answered.insert(0, self._answered.pop(at))  # it is likely to notice the next one, too
        return at is not None

    def close(self) -> None:
        """Give the policy's own engine back."""
        self._whole.close()


def _varied(asked: Sequence[_Answered]) -> list[_Answered]:
    """Return questions so that each sort, by tool and decision, comes once before any comes twice.

    What notices a mutant then mostly stands among the first, and only a mutant that nothing notices costs them all.
    """
    seen: Counter[Any] = Counter()
    ranked: list[tuple[int, int]] = []
    for at, (question, decision) in enumerate(asked):
        sort = ((question.input.get("tool") or {}).get("name"), decision, question.expected_stop)
        ranked.append((seen[sort], at))
        seen[sort] += 1
    return [asked[at] for _, at in sorted(ranked)]


def spread(every: Sequence[Mutant], sample: int) -> Sequence[Mutant]:
    """Return `sample` mutants, taken evenly from the first to the last file; all of them for 0."""
    if not 0 < sample < len(every):
        return every
    return [every[number * len(every) // sample] for number in range(sample)]


def _first_notice(engine: Engine, asked: Sequence[_Answered]) -> int | None:
    return next((at for at, (q, before) in enumerate(asked) if _differs(before, _decide(engine, q), q)), None)


def _differs(before: Decision | None, after: Decision | None, question: Question) -> bool:
    if before is None or after is None:
        return before is not after
    if (before.outcome, before.obligations) != (after.outcome, after.obligations):
        return True
    stop = question.expected_stop
    return stop in before.reasons and stop not in after.reasons


def _decide(engine: Engine, question: Question) -> Decision | None:
    try:
        return engine.decide(question.input)
    except PolicyUnavailable:
        return None
