"""Makes what travels on a test report: plain JSON, so that workers need no shared file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from itertools import count
from typing import Any

from pytest_soclab.evidence import store
from pytest_soclab.evidence.results import Trial
from pytest_soclab.scenario import corpus
from pytest_soclab.scenario.load import LoadedScenario
from pytest_soclab.trials.trial import Outcome

_STAMPS = count(1)


def payload(loaded: LoadedScenario, trial: Trial, outcome: Outcome, agent: Mapping[str, Any]) -> dict[str, Any]:
    """Return what travels on the report: plain JSON, so that workers need no shared file."""
    return {
        "trial": trial.model_dump(mode="json"),
        "transcript": outcome.transcript,
        "agent": dict(agent),
        "digest": loaded.digest,
        "sources": sources(loaded),
    }


def unfinished(loaded: LoadedScenario, trial: Trial) -> dict[str, Any]:
    """Return the payload of an item that did not come to a verdict."""
    return {"trial": trial.model_dump(mode="json"), "transcript": "", "agent": None, "digest": loaded.digest,
            "sources": sources(loaded), "stamp": stamp()}  # fmt: skip


def sources(loaded: LoadedScenario) -> dict[str, str]:
    """Return the files of a scenario by the names that their copies get, an incident's scenarios in one folder."""
    incident = loaded.incident_path
    home = f"{incident.stem}-{hashlib.sha256(os.fsencode(incident)).hexdigest()[:8]}"
    return {
        f"{home}/{loaded.path.name}{store.COPY}": str(loaded.path.absolute()),
        f"{home}/{corpus.INCIDENTS}/{incident.name}{store.COPY}": str(incident.absolute()),
    }


def stamp() -> str:
    """Return what tells one attempt from all others, those of other processes too."""
    return f"{os.getpid()}-{next(_STAMPS)}"
