"""All faults of a file at once: gathered while it is read, raised at its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pytest_soclab.base.errors import Fault, KnownAnswerError

MOST_NAMED = 100


@dataclass
class Faults:
    """The faults of one file, in the order in which they were met; the first hundred are named."""

    path: str
    found: list[Fault] = field(default_factory=list)
    count: int = 0

    @contextmanager
    def gather(self) -> Iterator[None]:
        """Take in the faults of an error that the body raises, and go on behind it."""
        try:
            yield
        except KnownAnswerError as error:
            self.take(error)

    def take(self, error: KnownAnswerError) -> None:
        """Take in the faults of an error."""
        for fault in error.faults:
            self.add(fault)

    def add(self, fault: Fault) -> None:
        """Take in one fault."""
        self.count += 1
        if self.count <= MOST_NAMED:
            self.found.append(fault)

    def settle(self) -> None:
        """Raise KnownAnswerError with everything that was gathered, in the order of the lines; else do nothing."""
        if not self.found:
            return
        more = self.count - len(self.found)
        rest = [Fault(f"{more} more faults like these", self.path)] if more else []
        raise KnownAnswerError(*sorted(self.found, key=lambda fault: fault.line), *rest)
