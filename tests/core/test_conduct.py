"""A live agent may do what it wants: its trial ends with a cause, the world is untouched, and nothing leads to it."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import queue
import re
import threading
import time
import types as kinds
from typing import Any

import pytest

from pytest_soclab.base.errors import SoclabError
from pytest_soclab.evidence import ledger
from pytest_soclab.evidence.ledger import Ledger
from pytest_soclab.evidence.results import Arm, Verdict
from pytest_soclab.fronts import in_process as conduct_module
from pytest_soclab.fronts.in_process import ChannelSoc, TrialOver
from pytest_soclab.fronts.protocol import Claim, Finding
from pytest_soclab.fronts.scripted import Obey, ScriptStep, is_scripted
from pytest_soclab.gateway.executor import Executor
from pytest_soclab.gateway.gateway import Gateway, OpenPoint
from pytest_soclab.gateway.grants import GrantOffice
from pytest_soclab.gateway.state import ToolResult, TrialState
from pytest_soclab.soc.registry import Registry, Tool
from pytest_soclab.soc.world import World
from pytest_soclab.trials import trial, unit

from .hostile import RaisingRepr
from .support import DISABLE, KEY, Live, of_type, red

LOOK = ("siem.search", {"query": "source:helpdesk"})


class RaisingText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


def raising(error: BaseException):
    def work(_case: Any, soc: Any) -> None:
        soc.call(*LOOK)
        raise error

    return work


ERRORS = {
    "an exception": (ValueError("broken"), "the agent raised ValueError: broken"),
    "an exit": (SystemExit(0), "the agent raised SystemExit: 0"),
    "an interrupt": (KeyboardInterrupt(), "the agent raised KeyboardInterrupt: "),
    "a failure of pytest": (pytest.fail.Exception("x"), "the agent raised Failed: x"),
    "a skip of pytest": (pytest.skip.Exception("x"), "the agent raised Skipped: x"),
    "a lone surrogate": (ValueError("\ud800"), "the agent raised ValueError: \\ud800"),
    "an exception without words": (RaisingText(), "the agent raised RaisingText: (it cannot say why)"),
    "an exception that cannot be shown": (
        ValueError(RaisingRepr()),
        "the agent raised ValueError: (it cannot say why)",
    ),
    "a long exception": (ValueError("x" * 9000), f"the agent raised ValueError: {'x' * 512}… (9000 characters)"),
    "no memory": (MemoryError(), "the agent raised MemoryError: "),
    "recursion": (RecursionError("deep"), "the agent raised RecursionError: deep"),
}


@pytest.mark.parametrize("case", ERRORS)
@pytest.mark.parametrize("arm", list(Arm))
def test_an_agent_that_raises_is_inconclusive(bench, case, arm):
    error, cause = ERRORS[case]
    outcome, setup = bench.ran(bench.unit(), Live(raising(error)), arm=arm)
    check_inconclusive(bench, outcome, setup, cause)


def check_inconclusive(bench, outcome, setup, cause):
    assert outcome.judgement.verdict is Verdict.INCONCLUSIVE
    assert not outcome.passed
    assert re.sub(r" \(\w+\.py:[0-9]+\)$", "", outcome.cause) == cause
    (end,) = of_type(outcome.events, "trial_ended")
    assert (end["cause"], end["verdict"]) == (outcome.cause, "inconclusive")
    assert ledger.verify(outcome.events, outcome.root_hash) is None
    assert setup.state.world.snapshot() == bench.unit().world().snapshot()


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (5, "int"),
        ("text", "str"),
        ({}, "dict"),
        (True, "bool"),
        (Finding, "type"),
        ((x for x in ()), "generator"),
        ([], "list"),
    ],
    ids=["number", "text", "object", "flag", "class", "generator", "list"],
)
def test_garbage_as_a_finding_is_inconclusive(bench, given, kind):
    outcome, setup = bench.ran(bench.unit(), Live(lambda *_: given))
    check_inconclusive(bench, outcome, setup, f"the agent returned a {kind}, expected a Finding or None")


def test_recursion_without_end_is_inconclusive(bench):
    def work(case, soc):
        return work(case, soc)

    outcome = bench.run(bench.base, Live(work))
    assert outcome.cause.startswith("the agent raised RecursionError")


def test_an_agent_without_an_investigation_or_a_name_is_an_error_before_the_trial(bench):
    class Nameless:
        name = ""

    class Idle:
        name = "idle"

    for agent, words in ((Nameless(), "has no name"), (Idle(), "has no investigate")):
        with pytest.raises(SoclabError, match=words):
            bench.run(bench.unit(), agent)


# Time


def stubborn(release):
    def work(_case, soc):
        soc.call(*LOOK)
        release.wait(20)
        try:
            soc.call(DISABLE, {"user": "svc-backup"})
        except TrialOver:
            release.late = "refused"
        else:
            release.late = "served"

    return work


def check_hanging(bench):
    release = threading.Event()
    agent = Live(stubborn(release))
    outcome, setup = bench.ran(bench.unit(), agent, arm=Arm.BASELINE, timeout=0.2)
    events = len(outcome.events)
    release.set()
    agent.thread.join(10)
    assert release.late == "refused"
    assert len(setup.state.ledger.events) == events
    check_inconclusive(bench, outcome, setup, "the agent did not finish within 0.2 s")


def test_a_hanging_agent_ends_its_trial_and_is_not_served_afterwards(bench):
    check_hanging(bench)


def test_an_agent_that_floods_the_channel_ends_in_time(bench):
    def work(_case, soc):
        def flood():
            with contextlib.suppress(TrialOver):
                while True:
                    soc.call("no.such", {})

        threads = [threading.Thread(target=flood) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]

    agent = Live(work)
    started = time.monotonic()
    outcome = bench.run(bench.unit(), agent, arm=Arm.BASELINE, timeout=0.3)
    assert time.monotonic() - started < 5
    assert outcome.cause == "the agent did not finish within 0.3 s"
    agent.thread.join(10)
    assert not agent.thread.is_alive()


def test_arguments_that_hang_when_read_hang_the_agent_alone(bench):
    release = threading.Event()

    class Slow(dict):
        def keys(self):
            release.wait(20)
            return super().keys()

        def __iter__(self):
            return iter(self.keys())

    agent = Live(lambda _case, soc: soc.call("siem.search", Slow(query="x")))
    outcome = bench.run(bench.unit(), agent, timeout=0.2)
    release.set()
    assert outcome.cause == "the agent did not finish within 0.2 s"
    agent.thread.join(10)


@pytest.mark.parametrize("nested", [False, True])
def test_an_async_agent_works(bench, nested):
    class Async(Live):
        async def investigate(self, case, soc):
            first = await soc.acall(*LOOK)
            both = await asyncio.gather(soc.acall(*LOOK), soc.acall("identity.get_account", {"user": "alex.rivera"}))
            assert [first.ok, *(r.ok for r in both)] == [True] * 3
            assert both[1].data["user"] == "alex.rivera"
            if nested:
                raise ValueError("late")

    outcome = bench.run(bench.unit(), Async(lambda *_: None))
    expected = Verdict.INCONCLUSIVE if nested else Verdict.RESISTED
    assert outcome.judgement.verdict is expected


def check_threads(bench):
    """Each thread of an agent gets the answer to its own question."""
    users = ["alex.rivera", "hana.sato", "maya.chen", "kofi.mensah", "svc-report"]
    got: list[tuple[str, Any]] = []

    def work(_case, soc):
        def ask(user):
            for _ in range(4):
                got.append((user, soc.call("identity.get_account", {"user": user}).data["user"]))

        threads = [threading.Thread(target=ask, args=(user,)) for user in users]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]

    bench.run(bench.base, Live(work))
    assert len(got) == 20
    assert all(asked == answered for asked, answered in got)


def test_an_agents_own_threads_get_their_own_answers(bench):
    check_threads(bench)


# What it holds


def check_mutation_of_results(bench):
    def work(_case, soc):
        result = soc.call(*LOOK)
        result.data["events"].clear()
        result.data["forged"] = "nothing to see here"
        soc.call("identity.get_account", {"user": "alex.rivera"}).data["groups"].append("admins")

    outcome, setup = bench.ran(bench.unit(), Live(work))
    assert ledger.verify(outcome.events, outcome.root_hash) is None
    assert outcome.judgement.delivered
    assert "forged" not in str(outcome.events)
    assert setup.state.world.snapshot() == bench.unit().world().snapshot()


def test_results_that_an_agent_changes_change_neither_transcript_nor_world(bench):
    check_mutation_of_results(bench)


def test_arguments_that_an_agent_changes_after_the_call_change_nothing(bench):
    def work(_case, soc):
        arguments, cites = {"query": "source:helpdesk"}, ["ev_0001"]
        soc.call("siem.search", arguments, cites)
        arguments["query"] = "x"
        cites.append("y")

    outcome = bench.run(bench.base, Live(work))
    (proposal,) = of_type(outcome.events, "proposal")
    assert (proposal["arguments"], proposal["cites"]) == ({"query": "source:helpdesk"}, ["ev_0001"])
    assert ledger.verify(outcome.events, outcome.root_hash) is None


def check_mutation_of_the_case(bench):
    before = bench.unit().case()

    def work(case, _soc):
        case.alert["message"] = "all is well"
        for tool in case.tools:
            tool.parameters.clear()

    bench.run(bench.base, Live(work))
    assert bench.unit().case() == before
    assert before.tools[0].parameters


def test_a_case_that_an_agent_changes_is_its_own(bench):
    check_mutation_of_the_case(bench)


@pytest.mark.parametrize(
    "message",
    [
        None,
        5,
        (),
        ("call",),
        ("call", 5),
        ("call", "{}"),
        ("call", "x", "y"),
        ["call", "x"],
        ("finding", "x"),
        ("call", "[" * 99_999),
    ],
    ids=[str(number) for number in range(10)],
)
def test_garbage_in_the_channel_is_inconclusive(bench, message):
    def work(_case, soc):
        soc.call(*LOOK)
        soc._requests.put(message)

    outcome, setup = bench.ran(bench.unit(), Live(work))
    check_inconclusive(bench, outcome, setup, "the agent sent something else than calls through its channel")


def test_a_forged_end_cannot_hide_what_was_done(bench):
    def work(_case, soc):
        soc.call(*LOOK)
        soc.call(DISABLE, {"user": "svc-backup"})
        soc._requests.put(("ended", ""))

    assert bench.run(bench.unit(), Live(work), arm=Arm.BASELINE).judgement.verdict is Verdict.SUCCEEDED


def test_a_subclass_of_a_scripted_agent_is_a_live_agent(bench):
    class Mine(Obey):
        pass

    class Liar(Live):
        @property
        def __class__(self):
            return Obey

    script = (ScriptStep(*LOOK),)
    assert is_scripted(Obey(script))
    for agent in (Mine(script), Liar(lambda *_: None)):
        assert not is_scripted(agent)
        assert trial.identity_of(agent).kind == "live"
    outcome = bench.run(bench.unit(), Mine(script))
    assert outcome.judgement.verdict is Verdict.RESISTED


def test_names_and_models_are_plain_text(bench):
    class Odd(Live):
        name, model = "a\ud800b", 5

    identity = trial.identity_of(Odd(lambda *_: None))
    assert (identity.name, identity.model) == ("a\\ud800b", "")
    assert bench.run(bench.unit(), Odd(lambda _case, soc: soc.call(*LOOK))).events


# Reach: no path from an agent to the world exists except a valid grant

INSIDE = (World, Executor, Gateway, OpenPoint, GrantOffice, Registry, Tool, Ledger, TrialState)
SKIPPED = (kinds.ModuleType, type, kinds.CodeType, kinds.BuiltinFunctionType, kinds.MethodDescriptorType)


def children(value: Any) -> list[Any]:
    """Return what an object leads to: attributes, slots, items, closures, the object of a bound method."""
    found: list[Any] = []
    if isinstance(value, dict):
        found += [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        found += list(value)
    if isinstance(value, kinds.FunctionType):
        return [*(cell.cell_contents for cell in value.__closure__ or ()), *(value.__defaults__ or ())]
    if isinstance(value, kinds.MethodType):
        return [value.__self__, value.__func__]
    found += list(getattr(value, "__dict__", {}).values())
    for base in type(value).__mro__:
        for name in (
            [base.__dict__["__slots__"]]
            if isinstance(base.__dict__.get("__slots__"), str)
            else base.__dict__.get("__slots__", ())
        ):
            mangled = (
                f"_{base.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
            )
            found += [getattr(value, mangled)] if hasattr(value, mangled) else []
    if not isinstance(value, str | bytes | int | float | dict | list | tuple):
        found += [getattr(value, name) for name in dir(value) if not name.startswith("__") and hasattr(value, name)]
    return found


def reachable(*roots: Any) -> list[Any]:
    seen: dict[int, Any] = {}
    waiting = list(roots)
    while waiting:
        value = waiting.pop()
        if id(value) not in seen and not isinstance(value, SKIPPED):
            seen[id(value)] = value
            waiting += children(value)
    return list(seen.values())


def check_reach(bench):
    found: list[Any] = []

    def work(case, soc):
        held = [soc.call(*LOOK), soc.call(DISABLE, {"user": "svc-backup"}), soc.call("no.such", {})]
        found.extend(reachable(case, soc, held, soc.call, getattr(soc, "acall", None)))

    bench.run(bench.base, Live(work))
    assert len(found) > 100
    assert any(isinstance(value, queue.SimpleQueue) for value in found)
    assert not [value for value in found if isinstance(value, INSIDE) or value == KEY]


def test_no_path_leads_from_an_agent_to_the_world(bench):
    check_reach(bench)


def test_the_walk_sees_what_hides_in_closures_slots_methods_and_containers(bench):
    point = bench.gateway()

    class Slotted:
        __slots__ = ("__hidden",)

        def __init__(self):
            self.__hidden = {"a": [(point,)]}

        def method(self):
            pass

    for root in (
        lambda: point,
        point.call,
        [{"a": {1: point}}],
        Slotted(),
        Slotted().method,
        kinds.SimpleNamespace(x=point),
    ):
        found = reachable(root)
        assert any(isinstance(value, World) for value in found)
        assert KEY in found


# Sabotage


def test_sabotage_of_the_channel_is_seen(bench, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(conduct_module, "_handed", lambda result: result)
        red(check_mutation_of_results, bench)
    with monkeypatch.context() as patch:
        patch.setattr(conduct_module, "_own", lambda case: case)
        shared = copy.deepcopy(bench.unit().case().tools)  # the registry's own schemas outlive this test
        patch.setattr(unit, "tool_specs", lambda _: shared)
        red(check_mutation_of_the_case, bench)


def test_sabotage_of_the_boundary_is_seen(bench, monkeypatch):
    def in_line(agent, case, serve, timeout):
        agent.investigate(case, conduct_module.InlineSoc(serve))
        return conduct_module.Conduct()

    monkeypatch.setattr(conduct_module, "_apart", in_line)
    red(check_reach, bench)


def test_sabotage_of_the_lock_is_seen():
    """Without the lock two threads take each other's replies: shown on the channel alone, step by step."""
    requests: Any = queue.SimpleQueue()
    replies: Any = queue.SimpleQueue()
    soc = ChannelSoc(requests, replies)
    first = threading.Thread(target=lambda: soc.call("a", {}))
    first.start()
    requests.get(timeout=5)
    second = threading.Thread(target=lambda: soc.call("b", {}))
    second.start()
    with pytest.raises(queue.Empty):
        requests.get(timeout=0.1)  # the second call waits until the first one has its reply
    replies.put(ToolResult(True))
    assert '"b"' in requests.get(timeout=5)[1]
    replies.put(ToolResult(True))
    first.join(5)
    second.join(5)


def test_a_claim_in_a_finding_cites_its_evidence():
    finding = Finding("s", claims=[Claim("a", ["e1", "e2"]), Claim("b", ["e2", "e3"])])
    assert finding.cites() == ("e1", "e2", "e3")
    assert finding.arguments()["claims"][1] == {"text": "b", "evidence": ["e2", "e3"]}
