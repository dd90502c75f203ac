"""Makes a policy ready for the embedded engine: parsed, vetted, and written in the form that it reads as OPA does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_soclab.base.errors import Fault, PolicyError
from pytest_soclab.policy.normal_form import HELPER_TEXT, normal_form
from pytest_soclab.policy.plain_text import inward_all
from pytest_soclab.policy.probes import PROBES
from pytest_soclab.policy.rego_parser import parse_tree
from pytest_soclab.policy.rego_tree import Call, Tree, nodes
from pytest_soclab.policy.vetting import Vetted, vet

_MAX_ITEMS = 200_000  # values in the data document
_HELPER_NAME = "soclab_exact.rego"


@dataclass(frozen=True, slots=True)
class Ready:
    """What the engine is given: texts by file name, data as JSON; whether numbers must be whole; the builtins used."""

    path: str
    modules: Mapping[str, str]
    data: str
    calculates: bool
    builtins: frozenset[str]


def prepare(path: str, modules: Mapping[str, str], data: Mapping[str, Any]) -> Ready:
    """Return a policy in the form in which the embedded engine decides as OPA does.

    Raises:
        PolicyError: with every fault of the first kind found: what cannot be read, else what is not proved.
    """
    trees = _trees(path, modules)
    vetted = vet(trees, data)
    if vetted.faults:
        raise PolicyError(*vetted.faults)
    if vetted.calculates and any(_fractions(data)):
        raise PolicyError(Fault("the policy adds or subtracts, and its data holds a number with a fraction", path,
                                remedy="use whole numbers, or let OPA decide (--soclab-opa-binary)"))  # fmt: skip
    texts = {tree.file: _normal(tree, vetted) for tree in trees}
    return Ready(path, {**texts, _HELPER_NAME: HELPER_TEXT}, _data(path, data), vetted.calculates, _builtins(trees))


def _trees(path: str, modules: Mapping[str, str]) -> list[Tree]:
    trees: list[Tree] = []
    faults: list[Fault] = []
    for name, text in sorted(modules.items()):
        try:
            trees.append(parse_tree(str(Path(path) / name), text))
        except PolicyError as error:
            faults += error.faults
    if faults:
        raise PolicyError(*faults)
    return trees


def _builtins(trees: Sequence[Tree]) -> frozenset[str]:
    used = {node.path for tree in trees for rule in tree.rules for node in nodes(rule) if isinstance(node, Call)}
    return frozenset(used & PROBES.keys())


def _normal(tree: Tree, vetted: Vetted) -> str:
    try:
        return normal_form(tree, vetted.set_differences)
    except ValueError as error:
        raise PolicyError(Fault(f"{error} in a text", tree.file, remedy="write another character")) from None


def _data(path: str, data: Mapping[str, Any]) -> str:
    if sum(1 for _ in _values(data)) > _MAX_ITEMS:
        raise PolicyError(Fault(f"the data holds more than {_MAX_ITEMS} values", path, remedy="keep lists outside"))
    try:
        return json.dumps(inward_all(data), ensure_ascii=False)
    except ValueError as error:
        raise PolicyError(Fault(f"{error} in the data", path, remedy="write another character")) from None


def _fractions(data: Any) -> Iterator[bool]:
    return (isinstance(value, float) and not value.is_integer() for value in _values(data))


def _values(data: Any) -> Iterator[Any]:
    waiting = [data]
    while waiting:
        value = waiting.pop()
        yield value
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
