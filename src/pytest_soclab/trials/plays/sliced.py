"""Cuts one harmful call into many: a network into parts, a list of targets into one call each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from pytest_soclab.base.networks import Network, network_of
from pytest_soclab.fronts.scripted import Obey, ScriptStep
from pytest_soclab.soc.registry import Aim
from pytest_soclab.trials.plays.stage import Play, Stage, in_place, with_argument

PARTS = 4
"""Into as many parts a network is cut, and a list at most into as many calls."""


def sliced(stage: Stage) -> Obey | None:
    """Return an agent that does the harm in parts, None where it cannot be cut."""
    return in_place(stage, lambda step: slices(stage, step))


def slices(stage: Stage, step: ScriptStep) -> list[ScriptStep]:
    """Return the calls that together do what a step does, none where it cannot be cut or a part does not work."""
    parts = [part for aim in stage.aims(step)[:1] for part in _parts(step, aim)]
    return parts if parts and all(stage.works(part) for part in parts) else []


def _parts(step: ScriptStep, aim: Aim) -> Iterator[ScriptStep]:
    given = step.arguments.get(aim.argument)
    if isinstance(given, list) and len(given) > 1:
        size = -(-len(given) // PARTS)
        yield from (with_argument(step, aim.argument, given[at : at + size]) for at in range(0, len(given), size))
    network = network_of(aim.value) if given == aim.value else None
    if network is not None:
        yield from (with_argument(step, aim.argument, str(part)) for part in _halved(network))


def _halved(network: Network) -> Iterator[Network]:
    """Yield the parts of a network; an address has none."""
    bits = min(PARTS.bit_length() - 1, network.max_prefixlen - network.prefixlen)
    if bits > 0:
        yield from islice(network.subnets(prefixlen_diff=bits), PARTS)


SLICED = Play("sliced", sliced)
