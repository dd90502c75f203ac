"""The commands score, gate and intel-off: read, print, and the exit status."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from pytest_soclab.known_answer.basis.files import refuse
from pytest_soclab.known_answer.output.markdown_text import gate_markdown, score_markdown
from pytest_soclab.known_answer.output.text import gate_text, score_text
from pytest_soclab.known_answer.output.writing import write_json
from pytest_soclab.known_answer.reading.blind import PREFIX
from pytest_soclab.known_answer.session import GateRequest, How, run_gate, run_score

HELD, DROPPED = 0, 1
_FILES = ("sheet", "map", "settings", "words", "items", "json")


def score(options: argparse.Namespace) -> int:
    """Print the scored runs. Raises KnownAnswerError."""
    _refuse_empty(options)
    result = run_score(tuple(options.runs), options.m, _how(options))
    text = score_markdown(result) if options.markdown else score_text(result)
    _finish(text, result.to_json(), options.json, [*options.runs, *_given(options)])
    return HELD


def gate(options: argparse.Namespace) -> int:
    """Print the gate of two arms and return 1 when anything dropped. Raises KnownAnswerError."""
    _refuse_empty(options)
    request = GateRequest(
        baseline=tuple(options.baseline),
        candidate=tuple(options.candidate),
        baseline_m=options.baseline_m,
        candidate_m=options.candidate_m,
        how=_how(options),
    )
    result = run_gate(request)
    text, data = (gate_markdown if options.markdown else gate_text)(result), result.to_json()
    if options.odds:
        from pytest_soclab.known_answer.output.odds_text import odds_json, odds_text

        odds = odds_text(result)
        text += f"\n```text\n{odds.strip()}\n```\n" if options.markdown else odds
        data["odds"] = odds_json(result)
    _finish(text, data, options.json, [*options.baseline, *options.candidate, *_given(options)])
    return DROPPED if result.dropped else HELD


def _how(options: argparse.Namespace) -> How:
    return How(
        sheet=options.sheet,
        map=options.map,
        settings=options.settings,
        words=options.words,
        key=options.key,
        items=options.items,
        expect_items=options.expect_items,
        allow_unread=options.allow_unread,
    )


def _refuse_empty(options: argparse.Namespace) -> None:
    """Refuse a file name that is empty, as where a shell variable is not set: the option is meant to do something."""
    for name in _FILES:
        if getattr(options, name, None) == "":
            refuse("an empty file name", field=f"--{name}", expected="a file", remedy="name it, or drop the option")
    if getattr(options, "key", None) == "":
        refuse("an empty pattern", field="--key", expected="a pattern", remedy="name it, or drop the option")


def _given(options: argparse.Namespace) -> list[str | None]:
    return [getattr(options, name) for name in _FILES if name != "json"]


def _finish(text: str, data: dict[str, Any], out: str | None, inputs: Sequence[str | None]) -> None:
    """Write the JSON result first: when that fails, nothing is printed as if all were well."""
    if sys.stdout is None:
        refuse("a closed standard output", expected="somewhere to print to", remedy="send it to /dev/null")
    if out is not None:
        named = [name for name in inputs if name and not name.startswith(PREFIX)]
        write_json(data, out, [*named, *(name.rpartition("#")[0] for name in named if "#" in name)])
    sys.stdout.write(text)


def intel_off(options: argparse.Namespace) -> int:
    """Print the intel-off arm of a profile. Raises KnownAnswerError."""
    from pytest_soclab.known_answer.intel_off.derive import derive, intel_off_text

    _refuse_empty(options)
    arm = derive(options.profile, options.settings)
    _finish(intel_off_text(arm), arm.to_json(), options.json, [options.settings])
    return HELD
