"""Logs of evaluation programs in JSON: inspect_ai (`samples`) and promptfoo (`results.results`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pytest_soclab.base.errors import nearest, quote
from pytest_soclab.known_answer.basis.faults import Faults
from pytest_soclab.known_answer.basis.files import refuse, shown
from pytest_soclab.known_answer.basis.run import ScoredRun
from pytest_soclab.known_answer.basis.verdicts import Verdict
from pytest_soclab.known_answer.basis.vocabulary import Vocabulary
from pytest_soclab.known_answer.reading.building import Building, objects, worded

_SAMPLE = frozenset({"id", "epoch", "scores", "error"})
_RESULT = frozenset({"success", "testCase", "testIdx", "promptIdx", "provider", "vars", "error", "failureReason"})
_ERROR = 2  # promptfoo's failureReason of a test that broke


def is_inspect(data: Any) -> bool:
    """Tell whether a JSON value is an inspect_ai log."""
    return isinstance(data, dict) and "eval" in data and ("samples" in data or "status" in data)


def is_promptfoo(data: Any) -> bool:
    """Tell whether a JSON value is a promptfoo output."""
    return isinstance(data, dict) and isinstance(data.get("results"), dict) and "results" in data["results"]


def read_inspect(
    data: Mapping[str, Any], path: str, vocabulary: Vocabulary, selected: str | None
) -> tuple[ScoredRun, ...]:
    """Return the runs of an inspect_ai log, one an epoch; `selected` names the scorer where there are several.

    Raises KnownAnswerError where the log is not complete, or a score is no word that is mapped.
    """
    if data.get("status", "success") != "success":
        refuse(
            shown(data["status"]), path, field="status", expected='"success"', remedy="run the evaluation to its end"
        )
    building = Building(path, "inspect_ai log", vocabulary)
    building.left |= set(data) - {"eval", "samples", "status", "version", "results"}
    samples = objects(data.get("samples"), path, "samples")
    _complete(data, len(samples), path)
    scorer = _scorer(samples, path, selected)
    faults = Faults(path)
    for index, sample in enumerate(samples):
        building.count()
        with faults.gather():
            _sample(building, sample, f"samples[{index}]", scorer)
    faults.settle()
    return building.finish(None)


def _complete(data: Mapping[str, Any], held: int, path: str) -> None:
    results = data.get("results")
    for name in ("total_samples", "completed_samples"):
        said = results.get(name) if isinstance(results, dict) else None
        if isinstance(said, int) and said != held:
            found = f"{said}, but {held} samples"
            refuse(found, path, field=f"results.{name}", expected="one number", remedy="is the log complete?")


def _scorer(samples: list[Mapping[str, Any]], path: str, selected: str | None) -> str | None:
    """Return the scorer whose scores are read; None where no sample has a score."""
    names = {name for sample in samples if isinstance(sample.get("scores"), dict) for name in sample["scores"]}
    if selected is not None and selected not in names:
        refuse(f"no scorer {quote(selected)}", path, remedy=nearest(selected, names))
    if selected is None and len(names) > 1:
        remedy = f"name one: {path}#{min(names)}"
        refuse(f"{len(names)} scorers: {', '.join(sorted(names))}", path, expected="one", remedy=remedy)
    return selected if selected is not None else next(iter(names), None)


def _sample(building: Building, sample: Mapping[str, Any], place: str, scorer: str | None) -> None:
    building.left |= {f"samples.{name}" for name in set(sample) - _SAMPLE}
    label = worded(sample.get("id"))
    if not label:
        refuse(shown(sample.get("id")), building.path, field=f"{place}.id", expected="a text or a number")
    epoch = worded(sample.get("epoch", 1))
    if not epoch:
        refuse(shown(sample["epoch"]), building.path, field=f"{place}.epoch", expected="a number")
    scores = sample.get("scores")
    verdict: Verdict | None = None
    if not sample.get("error") and isinstance(scores, dict) and scorer in scores:
        score = scores[scorer]
        value = score.get("value") if isinstance(score, dict) else score
        verdict = building.verdict(value, label, field=f"{place}.scores.{scorer}")
    building.add(f"epoch {epoch}", label, verdict, field=place)


def read_promptfoo(
    data: Mapping[str, Any], path: str, vocabulary: Vocabulary, selected: str | None
) -> tuple[ScoredRun, ...]:
    """Return the runs of a promptfoo output, one a repetition; `selected` names the provider where there are several.

    Raises KnownAnswerError where a test has no description, or the stated counts are others than the results.
    """
    results = objects(data["results"].get("results"), path, "results.results")
    _check_stats(data["results"].get("stats"), results, path)
    setups = list(dict.fromkeys(map(_setup, results)))
    if selected is None and len(setups) > 1:
        refuse(
            f"{len(setups)} setups: {', '.join(setups)}", path, expected="one", remedy=f"name one: {path}#{setups[0]}"
        )
    if selected is not None and selected not in setups:
        refuse(f"no setup {quote(selected)}", path, remedy=nearest(selected, setups))
    building = Building(path, "promptfoo output", vocabulary)
    building.left |= set(data) - {"results"}
    faults = Faults(path)
    times: Counter[str] = Counter()
    for index, result in enumerate(results):
        building.count()
        if selected is None or _setup(result) == selected:
            with faults.gather():
                _result(building, result, f"results.results[{index}]", times)
    faults.settle()
    return building.finish(None)


def _setup(result: Mapping[str, Any]) -> str:
    """Return provider and prompt of a result, for an arm is runs of one setup."""
    provider = result.get("provider")
    name = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
    prompt = result.get("promptIdx")
    return f"{name or 'provider'}" + (f"/prompt {prompt}" if prompt else "")


def _result(building: Building, result: Mapping[str, Any], place: str, times: Counter[str]) -> None:
    building.left |= {f"results.{name}" for name in set(result) - _RESULT}
    label = _described(result, building.path, place)
    success = result.get("success")
    if not isinstance(success, bool):
        refuse(shown(success), building.path, field=f"{place}.success", expected="true or false")
    broke = not success and (result.get("failureReason") == _ERROR or _only_error(result))
    times[label] += 1
    building.add(f"trial {times[label]}", label, None if broke else building.binary(success), field=place)


def _only_error(result: Mapping[str, Any]) -> bool:
    return bool(result.get("error")) and "failureReason" not in result and not result.get("gradingResult")


def _described(result: Mapping[str, Any], path: str, place: str) -> str:
    case = result.get("testCase")
    found = case.get("description") if isinstance(case, dict) else None
    inputs = result.get("vars")
    for value in (found, result.get("description"), inputs.get("id") if isinstance(inputs, dict) else None):
        if isinstance(value, str) and value.strip():
            return value.strip()
    return refuse(
        "a test without a description",
        path,
        field=f"{place}.testCase.description",
        expected="a description, or a variable `id`, such as K1.2",
        remedy="describe every test; its number changes when one is added",
    )


def _check_stats(stats: Any, results: list[Mapping[str, Any]], path: str) -> None:
    if not isinstance(stats, dict):
        return
    said = [stats.get(name, 0) for name in ("successes", "failures", "errors")]
    if all(isinstance(number, int) for number in said) and sum(said) != len(results):
        found = f"{sum(said)} results counted, but {len(results)} listed"
        refuse(found, path, field="results.stats", expected="one number", remedy="is the file complete?")
