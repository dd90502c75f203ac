"""What authors of agents and plugins write, as mypy --strict sees it; nothing runs this file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, assert_type

from pydantic import TypeAdapter

import pytest_soclab
from pytest_soclab import Agent, Case, Claim, Finding, Soc, ToolResult
from pytest_soclab.public import Bench, Oracle, Registry, Step, Tool

assert_type(pytest_soclab.__version__, str)


class Synchronous:
    """A synchronous agent."""

    name = "synchronous"
    model: str | None = None
    deterministic = True

    def investigate(self, case: Case, soc: Soc) -> Finding | None:
        result = soc.call("siem.search", {"query": "user:alex.rivera"}, cites=())
        assert_type(result, ToolResult)
        return Finding(summary="Nothing found.", claims=(Claim("Nothing happened.", ()),))


class Asynchronous:
    """An asynchronous agent."""

    name = "asynchronous"
    model: str | None = "some-model"
    deterministic = False

    async def investigate(self, case: Case, soc: Soc) -> Finding | None:
        return None


AGENTS: Sequence[Agent] = (Synchronous(), Asynchronous())


class Whisper(Step):
    """A harness step of a plugin."""

    step: Literal["whisper"]

    def prepare(self, bench: Bench) -> None:
        bench.log("whisper", "said")


def pytest_soclab_harness_steps() -> Iterable[type[Step]]:
    return [Whisper]


def pytest_soclab_oracles(registry: Registry) -> Iterable[Oracle]:
    return [Oracle("never", TypeAdapter(str), lambda scene, parameter: [], "approval_bypass", "it never happens")]


def pytest_soclab_tools() -> Iterable[Tool]:
    return []
