"""The known-answer gate as test items: one for each item that the baseline scored, one for the beyond-human count."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_soclab.base.errors import UsageError, nearest, printable, quote
from pytest_soclab.base.settings import Settings
from pytest_soclab.known_answer.comparing.results import GateResult, beyond_sentence, item_sentence
from pytest_soclab.known_answer.comparing.statistic import Outcome
from pytest_soclab.known_answer.session import GateRequest, How, run_gate
from pytest_soclab.session import state

COLLECTOR = "known-answer"
BEYOND = "beyond-human"


def gate_of(settings: Settings) -> GateResult:
    """Run the gate that the options ask for.

    Raises:
        KnownAnswerError: when the runs cannot be read or compared.
    """
    return run_gate(
        GateRequest(
            settings.baseline,
            settings.candidate,
            settings.baseline_m,
            settings.candidate_m,
            How(
                sheet=settings.sheet,
                map=settings.map,
                settings=settings.settings,
                words=settings.words,
                key=settings.key,
                items=settings.items,
                expect_items=settings.expect_items,
                allow_unread=settings.allow_unread,
            ),
        )
    )


def take_pasted(arguments: list[str], result: GateResult) -> frozenset[str]:
    """Take node ids such as `known-answer::K3.2` out of pytest's arguments, which stand for no file; return the names.

    Raises:
        UsageError: when the gate has no such item.
    """
    ids = [argument for argument in arguments if argument == COLLECTOR or argument.startswith(f"{COLLECTOR}::")]
    if not ids:
        return frozenset()
    arguments[:] = [argument for argument in arguments if argument not in ids]
    names = {argument.removeprefix(COLLECTOR).removeprefix("::") for argument in ids}
    valid = {name for name, *_ in _rows(result)}
    unknown = sorted(names - valid - {""})
    if unknown:
        raise UsageError(f"the known-answer gate has no item {quote(unknown[0])}; {nearest(unknown[0], valid)}")
    return frozenset() if "" in names else frozenset(names)


def _rows(result: GateResult) -> list[tuple[str, str, Outcome, str]]:
    """Return name, key, outcome and sentence of every item, the beyond-human count last."""
    rows = [
        (_name(item.item), item.item, item.outcome, item_sentence(item)) for item in result.items if item.scored > 0
    ]
    return [*rows, (BEYOND, BEYOND, _beyond(result), beyond_sentence(result))]


class DroppedError(Exception):
    """An item that the baseline found and the candidate lost."""


class KnownAnswers(pytest.Collector):
    """The parent of the gate's items; it stands for no file."""

    def __init__(self, *, result: GateResult, pasted: frozenset[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.result = result
        self.pasted = pasted

    def collect(self) -> Iterable[pytest.Item]:
        """Yield the gate's items in the order of the baseline's files; of pasted node ids, only theirs."""
        for name, key, outcome, sentence in _rows(self.result):
            if not self.pasted or name in self.pasted:
                yield KnownAnswerItem.from_parent(self, name=name, outcome=outcome, sentence=sentence, key=key)


class KnownAnswerItem(pytest.Item):
    """One item of the gate: held and improved pass, dropped fails, not gated skips."""

    def __init__(self, *, outcome: Outcome, sentence: str, key: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        state.settle_id(self)
        self.outcome = outcome
        self.sentence = sentence
        self.key = key
        self.add_marker("known_answer")

    def runtest(self) -> None:
        """Fail, pass or skip as the gate decided."""
        self.user_properties.append(("soclab.known_answer", self.outcome.value))
        if self.outcome is Outcome.DROPPED:
            raise DroppedError(self.sentence)
        if self.outcome is Outcome.NOT_GATED:
            pytest.skip(self.sentence)

    def repr_failure(  # type: ignore[override]  # pytest calls it with the exception alone
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> Any:
        """Show a drop as its sentence."""
        if isinstance(excinfo.value, DroppedError):
            return f"dropped: {excinfo.value}"
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the collector's name; pytest's skipping needs a line, though an item has none."""
        return Path(COLLECTOR), 0, self.name

    @property
    def location(self) -> tuple[str, int | None, str]:
        """The place that reports print."""
        return COLLECTOR, None, self.name


def make_items(session: pytest.Session, result: GateResult, pasted: frozenset[str]) -> list[pytest.Item]:
    """Collect the gate's items as pytest collects a file's, so that every report counts them."""
    parent = KnownAnswers.from_parent(session, name=COLLECTOR, nodeid=COLLECTOR, result=result, pasted=pasted)
    report = session.config.hook.pytest_make_collect_report(collector=parent)
    session.config.hook.pytest_collectreport(report=report)
    return [item for item in report.result if isinstance(item, pytest.Item)]


def _name(key: str) -> str:
    return printable(key).replace("::", ":")


def _beyond(result: GateResult) -> Outcome:
    beyond = result.beyond
    if not beyond.gated:
        return Outcome.NOT_GATED
    if beyond.dropped:
        return Outcome.DROPPED
    before, after = beyond.baseline or 0, beyond.candidate or 0
    return Outcome.IMPROVED if after > before else Outcome.HELD
