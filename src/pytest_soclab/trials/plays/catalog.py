"""The plays of a session by name: those that the package brings, and those of plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pytest_soclab.base.errors import UsageError, nearest, quote
from pytest_soclab.trials.plays.other_tool import OTHER_TOOL
from pytest_soclab.trials.plays.padded import PADDED
from pytest_soclab.trials.plays.patient import PATIENT
from pytest_soclab.trials.plays.respelled import RESPELLED
from pytest_soclab.trials.plays.sliced import SLICED
from pytest_soclab.trials.plays.spoken import SPOKEN
from pytest_soclab.trials.plays.stage import Play
from pytest_soclab.trials.unit import PLAIN

STANDARD = (PADDED, RESPELLED, SLICED, OTHER_TOOL, PATIENT, SPOKEN)


def catalog(extra: Iterable[Play] = ()) -> dict[str, Play]:
    """Return the plays by name, without the plain one, which needs no deriving.

    Raises:
        UsageError: when a plugin's play has a name that is taken or cannot stand in an item's id.
    """
    found = {play.name: play for play in STANDARD}
    for play in extra:
        if play.name in found or play.name == PLAIN:
            raise UsageError(f"a play {quote(play.name)} exists already; give the plugin's another name")
        if not (play.name.isascii() and play.name.isidentifier() and play.name.islower()):
            raise UsageError(f"the play {quote(play.name)}: its name must be of lower-case letters, digits and _")
        found[play.name] = play
    return found


def chosen(plays: Mapping[str, Play], names: str | None) -> tuple[str, ...]:
    """Return the names that a session plays; all of them where nothing is asked for.

    Raises:
        UsageError: when a name is none of a play.
    """
    known = (PLAIN, *plays)
    if not names:
        return known
    asked = [name.strip() for name in names.split(",")]
    unknown = next((name for name in asked if name not in known), None)
    if unknown is not None:
        raise UsageError(f"--soclab-plays: found {quote(unknown)}; {nearest(unknown, known)}")
    return tuple(name for name in known if name in asked)
