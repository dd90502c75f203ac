"""What `soclab policy mutate` does: change a policy piece by piece, and list the changes that nothing notices."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_soclab.audit import rebuild
from pytest_soclab.base import resources
from pytest_soclab.base.errors import printable
from pytest_soclab.base.settings import Settings
from pytest_soclab.evidence.store import load_results
from pytest_soclab.policy.model import PolicySource
from pytest_soclab.policy.mutation import Adequacy, Question, adequacy
from pytest_soclab.policy.own_tests import OwnTests
from pytest_soclab.report.words import count
from pytest_soclab.trials.lab import Lab
from pytest_soclab.trials.reach.asking import alike, constants
from pytest_soclab.trials.reach.incident import ground_of
from pytest_soclab.trials.reach.reach import questions

_TOP = 5  # the level at which changes run unattended


def mutate(options: argparse.Namespace, source: PolicySource) -> int:
    """Print the mutants that neither the stored session's questions nor reach's notice.

    Returns 1 below the wanted share, where no mutant was tried, and where the time did not suffice for all.
    """
    lab = Lab(Settings(level=load_results(Path(options.folder)).level.tested.value))
    known = constants(source)
    asked = _Questions(Path(options.folder), lab, known)
    kinds = sorted(lab.registry.changes)
    tests = OwnTests(options.own_tests, source).notice if options.own_tests else None
    found = adequacy(source, asked, kinds, options.seconds, sample=options.sample, own_tests=tests)
    _tell(found, asked.put)
    return 0 if not found.untried and found.share * 100 >= options.least else 1


class _Questions:
    """The session's questions and reach's, those that the policy cannot tell apart once; `put` counts them."""

    def __init__(self, folder: Path, lab: Lab, known: frozenset[str] | None) -> None:
        self._folder, self._lab, self._known = folder, lab, known
        self.put = 0

    def __iter__(self) -> Iterator[Question]:
        seen: set[Any] = set()
        for question in (*_recorded(self._folder), *_reached(self._lab, self._known or frozenset())):
            mark = (alike(question.input, self._known), question.expected_stop) if self._known is not None else self.put
            if mark not in seen:
                seen.add(mark)
                self.put += 1
                yield question


def _recorded(folder: Path) -> Iterator[Question]:
    return (Question(record.input, record.expected_stop) for record in rebuild.decisions(folder))


def _reached(lab: Lab, called: frozenset[str]) -> Iterator[Question]:
    """Yield what reach asks at the session's level and at L5, where alone something runs unattended, and once below.

    A level stands in a question as a number, so the same call is asked at another by another number.
    """
    once: set[tuple[str, int]] = set()
    for path in sorted((resources.scenarios() / "incidents").glob("*.yaml")):
        ground = ground_of(*lab.incident(path), lab.registry)
        for _, document in questions(ground, lab.level, called):
            yield from (Question({**document, "level": level}) for level in sorted({document["level"], _TOP}))
            for level in range(1, document["level"]):
                mark = (document["tool"]["name"], level)
                if mark not in once:
                    once.add(mark)
                    yield Question({**document, "level": level})


def _tell(found: Adequacy, asked: int) -> None:
    lines = [f"{mutant.place}: {mutant.change}: nothing notices" for mutant in found.survivors]
    tried = found.noticed + len(found.survivors)
    share = f"{found.share:.1%}" if tried else "none tried"
    lines.append(f"{found.noticed:,} of {count(tried, 'mutant')} noticed ({share}) by {count(asked, 'question')}")
    if found.by_tests:
        lines.append(f"{found.by_tests:,} of them by the policy's own tests, which were asked first")
    if found.invalid:
        lines.append(f"{count(found.invalid, 'mutant')} no engine loads, and counted nowhere")
    if found.untried:
        lines.append(f"{count(found.untried, 'mutant')} not tried: give more time with --seconds")
    sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))
