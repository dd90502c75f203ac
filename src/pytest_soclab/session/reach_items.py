"""Incident files as pytest items: what becomes of every single call that an incident's world spans."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_soclab.base.errors import SoclabError
from pytest_soclab.base.settings import settings_of
from pytest_soclab.evidence.results import Reach
from pytest_soclab.report.reach import failure_text
from pytest_soclab.session import state
from pytest_soclab.trials.lab import Lab

MARK = "reach"


class ReachFailedError(Exception):
    """A reach in which a call had an outcome that it must not have; the text is all that the user needs."""


class ReachFile(pytest.File):
    """One incident of a corpus."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the one item of an incident."""
        lab = state.of(self.config).lab()
        yield ReachItem.from_parent(self, name=f"reach[{lab.level.value}]", lab=lab)


def collect_incident(path: Path, parent: pytest.Collector) -> ReachFile | None:
    """Return the collector of an incident; only behind a control plane is there anything to reach."""
    settings = settings_of(parent.config)
    if settings.no_reach or settings.mode == "baseline":
        return None
    file: ReachFile = ReachFile.from_parent(parent, path=path)
    return file


class ReachItem(pytest.Item):
    """Every single call of one incident's world at the level under test."""

    def __init__(self, *, lab: Lab, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        state.settle_id(self)
        self.lab = lab
        self.record: dict[str, Any] | None = None
        self.add_marker(state.of(self.config).mark(MARK))

    @property
    def incident(self) -> str:
        """The incident's id, which is its file's name."""
        return self.path.stem

    def runtest(self) -> None:
        """Try every call, keep the record, and fail where one had an outcome that it must not have."""
        found = self.lab.reach(self.path, self.nodeid)
        self.record = {"reach": found.model_dump(mode="json")}
        if found.passed:
            return
        text = failure_text(found)
        if self.lab.settings.report_only:
            pytest.xfail(f"report only: {text}")
        raise ReachFailedError(text)

    def unfinished(self, cause: str) -> dict[str, Any]:
        """Return the record of an item that did not come to an end."""
        level = self.lab.level
        found = Reach(incident=self.incident, level=level, nodeid=self.nodeid, tried=0, spanned=0, cause=cause)
        return {"reach": found.model_dump(mode="json")}

    def repr_failure(  # type: ignore[override]  # pytest calls it with the exception alone
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> Any:
        """Show forbidden outcomes and our own errors as text."""
        if isinstance(excinfo.value, ReachFailedError | SoclabError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the incident's file."""
        return self.path, 0, self.name
