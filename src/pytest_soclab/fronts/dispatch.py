"""Lets an agent work on a case through the front that it belongs to."""

from __future__ import annotations

from pytest_soclab.fronts import in_process
from pytest_soclab.fronts.in_process import Conduct, Serve
from pytest_soclab.fronts.outside import Brief, CommandAgent, ServiceAgent
from pytest_soclab.fronts.protocol import Agent, Case

NO_BRIEF = Brief()


def conduct(agent: Agent, case: Case, serve: Serve, timeout: float, brief: Brief = NO_BRIEF) -> Conduct:
    """Let an agent work on a case; `serve` serves its proposals, `timeout` is in seconds."""
    if type(agent) is CommandAgent:  # a subclass from elsewhere is an agent of this process
        from pytest_soclab.fronts.command import conduct_command

        return conduct_command(agent, case, serve, timeout, brief)
    if type(agent) is ServiceAgent:
        from pytest_soclab.fronts.service import conduct_service

        return conduct_service(agent, case, serve, timeout)
    return in_process.conduct(agent, case, serve, timeout)
