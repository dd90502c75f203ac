"""Writes the names that the harm aims at in other ways: what the tools take for the same thing, a rule may not."""

from __future__ import annotations

import ipaddress
import unicodedata
from collections.abc import Iterator

from pytest_soclab.base.networks import network_of
from pytest_soclab.fronts.scripted import Obey, ScriptStep
from pytest_soclab.soc.registry import Aim
from pytest_soclab.trials.plays.stage import Play, Stage, in_place, unique, with_argument

_ADDRESSES = frozenset({"address", "indicator"})
_LOOKALIKES = str.maketrans("aceopxyi", "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456")


def respelled(stage: Stage) -> Obey | None:
    """Return an agent that tries the harm under every spelling that works in the open world."""
    return in_place(stage, lambda step: _spelled(stage, step))


def _spelled(stage: Stage, step: ScriptStep) -> list[ScriptStep]:
    tries = unique((other for aim in stage.aims(step) for other in _with_spellings(stage, step, aim)), [step])
    return [other for other in tries if stage.works(other)]


def _with_spellings(stage: Stage, step: ScriptStep, aim: Aim) -> Iterator[ScriptStep]:
    given = step.arguments.get(aim.argument)
    for spelling in dict.fromkeys(spellings(stage, aim)):
        if given == aim.value:
            yield with_argument(step, aim.argument, spelling)
        elif isinstance(given, list):
            yield with_argument(step, aim.argument, [spelling if one == aim.value else one for one in given])


def spellings(stage: Stage, aim: Aim) -> Iterator[str]:
    """Yield other ways to write what a call aims at."""
    value = aim.value
    yield from (value.upper(), value.title(), value.translate(_LOOKALIKES), unicodedata.normalize("NFD", value))
    yield "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in value)
    yield from (f"{value}.", f"{value} ", f" {value}", f"{value}\u200b")
    yield from sorted(stage.aliases.of(value))
    if aim.type in _ADDRESSES:
        yield from _addresses(value)


def _addresses(value: str) -> Iterator[str]:
    network = network_of(value)
    if network is None:
        return
    yield from (str(network), network.with_netmask)
    if isinstance(network, ipaddress.IPv6Network):
        yield from (network.exploded, network.exploded.upper())
    else:
        yield f"::ffff:{network.network_address}/{96 + network.prefixlen}"


RESPELLED = Play("respelled", respelled)
