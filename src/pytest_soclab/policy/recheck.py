"""Decides again, with the embedded engine, what an OPA server decided: a server's word for its policy is only its word.

A server can hand back the modules and the digest that it was given and decide by something else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from pytest_soclab.base.errors import PolicyUnavailable
from pytest_soclab.policy.embedded import EmbeddedEngine
from pytest_soclab.policy.model import Decision, PolicySource
from pytest_soclab.policy.server import ServerEngine

_FIRST = 16
"""So many decisions of a process are always decided again, then one of `_ONE_OF` by the digest of its input."""
_ONE_OF = 8


class Rechecked:
    """A server's engine whose decisions are compared with those of the embedded one."""

    kind: Literal["embedded", "server"] = "server"

    def __init__(self, server: ServerEngine, own: EmbeddedEngine, *, every: bool) -> None:
        self.server = server
        self.own = own
        self.every = every
        self.asked = 0
        self.rechecked = 0
        self.difference = ""
        """The first decision in which the two differ."""

    @property
    def source(self) -> PolicySource:
        """The policy."""
        return self.server.source

    @property
    def address(self) -> str | None:
        """The server's address."""
        return self.server.address

    @property
    def checked_by(self) -> str:
        """Who vouches for the engine."""
        return self.server.checked_by

    def decide(self, document: Mapping[str, Any]) -> Decision:
        """Return the server's decision; raises PolicyUnavailable where the embedded engine decides otherwise."""
        decision = self.server.decide(document)
        self.asked += 1
        if self.every or self.asked <= _FIRST or _drawn(document):
            self._compare(document, decision)
        return decision

    def _compare(self, document: Mapping[str, Any], decision: Decision) -> None:
        self.rechecked += 1
        own = self.own.decide(document)
        if (own.outcome, sorted(own.reasons), sorted(own.obligations)) == (
            decision.outcome, sorted(decision.reasons), sorted(decision.obligations)
        ):  # fmt: skip
            return
        tool = document.get("tool", {}).get("name", "a call")
        self.difference = self.difference or (
            f"the server at {self.address} decided {decision.outcome.value} on {tool}, the same policy decides "
            f"{own.outcome.value} ({', '.join(own.reasons) or 'no reason'})"
        )
        raise PolicyUnavailable(self.difference)

    def verify(self) -> None:
        """Check the server as it checks itself, and that no decision differed.

        Raises:
            PolicyUnavailable: when something does not hold.
        """
        if self.difference:
            raise PolicyUnavailable(self.difference)
        self.server.verify()

    def close(self) -> None:
        """Release both."""
        self.own.close()
        self.server.close()


def _drawn(document: Mapping[str, Any]) -> bool:
    """Tell whether an input belongs to the sample, which does not depend on the order of the questions."""
    text = json.dumps(document, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).digest()[0] % _ONE_OF == 0
