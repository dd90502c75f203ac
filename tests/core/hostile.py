"""Objects that a malicious or broken agent may propose in place of a name, of arguments or of a list of cites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

from .test_ledger import JSON


class RaisingRepr:
    def __repr__(self) -> str:
        raise ValueError("no")

    __str__ = __repr__


class RaisingEverything(Mapping):  # type: ignore[type-arg]
    def __getitem__(self, key: str) -> Any:
        raise RuntimeError(RaisingRepr())

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("\ud800")

    def __len__(self) -> int:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        raise RuntimeError("no")


class LyingEquality:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class LyingText(str):
    """Is equal to everything, and says another text at each turn."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("siem.search")

    def __len__(self) -> int:
        return 3

    def __str__(self) -> str:
        return "something else"

    def encode(self, *args: Any) -> bytes:
        raise RuntimeError("no")


class LyingClass:
    @property
    def __class__(self) -> Any:
        raise RuntimeError("no class")


class Turncoat(dict):  # type: ignore[type-arg]
    """A harmless call at the first reading, another one at each later one and to who looks past its methods."""

    def __init__(self, first: Mapping[str, Any], later: Mapping[str, Any]) -> None:
        super().__init__(later)
        self.first, self.later, self.read = first, later, 0

    def _now(self) -> Mapping[str, Any]:
        self.read += 1
        return self.first if self.read == 1 else self.later

    def items(self) -> Any:
        return self._now().items()

    def keys(self) -> Any:
        return self._now().keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __getitem__(self, key: str) -> Any:
        return self._now()[key]

    def get(self, key: str, default: Any = None) -> Any:
        return self._now().get(key, default)


def deep(levels: int, kind: type = list) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value] if kind is list else {"a": value}
    return value


def ring() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def ring_of_objects() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


def things() -> list[Any]:
    """Return one of each, new ones: some change when they are read."""
    return [
        b"bytes", {1, 2}, frozenset("x"), 2**53, -(2**63), 10**5000, float("nan"), float("inf"), 1e300,
        "\ud800", "\udfffx",
        ["\ud800"], {"\ud800": 1}, {1: "a", "1": "b"}, {(1, 2): 3}, {b"k": 1}, {None: 1}, deep(9), deep(63), deep(66),
        deep(400), deep(900, dict), deep(5000), deep(5000, dict), ring(), ring_of_objects(), RaisingRepr(),
        RaisingEverything(),
        LyingEquality(), LyingText("siem.search"), LyingClass(), [LyingClass()],
        (x for x in "ab"), object(), object, len,
        Turncoat({"query": "a"}, {"user": "svc-backup"}), "x" * 70_000, ["x"] * 70, None, True, 1.5, "", [], {}, 1j,
        "\x00\u202e\u200d", ..., NotImplemented, memoryview(b"x"), range(3), Exception("\ud800"),
    ]  # fmt: skip


COUNT = len(things())
NUMBERS = st.integers(0, COUNT - 1)  # hypothesis itself cannot look at some of them, so it draws their numbers


THING = NUMBERS.map(lambda number: things()[number])
ANYTHING = THING | JSON
ARGUMENTS = ANYTHING | st.dictionaries(
    st.sampled_from(["query", "user", "case", "verdict", "accused", "address", "x"]) | st.text(max_size=3),
    ANYTHING,
    max_size=3,
)
CITES = st.just(()) | ANYTHING | st.lists(ANYTHING, max_size=3)
