"""Compares a decision of the embedded engine with the engine's bare round trip, in pairs, on one input of about 2 KB.

Run it with `python benchmarks/policy_engine.py [--pairs N]`. It prints medians and the median of the paired ratios.
The bare round trip is what regopy's own example does: `set_input(Input(document))`, query the compiled bundle's entry
point, read the answer.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from regopy import Input, Interpreter

from pytest_soclab.base import resources
from pytest_soclab.policy.embedded import EmbeddedEngine
from pytest_soclab.policy.load import load_policy
from pytest_soclab.policy.model import ENTRYPOINT, PolicySource

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "policy"))
from policy_inputs import call, piece, target

ROUNDS = 200  # decisions in each half of a pair


def sample(kind: str) -> dict[str, object]:
    """Return an ordinary allowed call of a kind, with three pieces of evidence and a reason, about 2 KB as JSON."""
    reason = "Sign-in from a new country and a new second factor within five minutes: contain first, ask after. "
    evidence = [piece(number, kind) for number, kind in enumerate(("sign_in", "identity_record", "process"))]
    return call(kind, targets=[target()], evidence=evidence, arguments={"user": "alex.rivera", "reason": reason * 4})


def bare(source: PolicySource) -> Callable[[dict[str, object]], object]:
    """Return a function that asks a policy through regopy's public interface and nothing else."""
    interpreter = Interpreter()
    for name, text in source.modules.items():
        interpreter.add_module(name, text)
    interpreter.add_data_json(json.dumps(source.data))
    bundle = interpreter.build(None, [ENTRYPOINT])

    def ask(document: dict[str, object]) -> object:
        interpreter.set_input(Input(document))
        return interpreter.query_bundle_entrypoint(bundle, ENTRYPOINT)[0].expressions[0]

    return ask


def milliseconds(ask: Callable[[dict[str, object]], object], document: dict[str, object]) -> float:
    """Return the median time of one question, in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        ask(document)
        times.append(time.perf_counter() - started)
    return median(times) * 1000


def main() -> None:
    """Print the comparison for a read and for a state change."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=9, help="paired measurements, at least 7")
    pairs = max(7, parser.parse_args().pairs)
    source = load_policy(resources.policies())
    engine, ask = EmbeddedEngine(source), bare(source)
    for kind in ("read", "act"):
        document = sample(kind)
        measured = [(milliseconds(engine.decide, document), milliseconds(ask, document)) for _ in range(pairs)]
        ours, theirs, ratio = (median(values) for values in zip(*[(a, b, a / b) for a, b in measured], strict=True))
        size = len(json.dumps(document))
        times = f"decide {ours:.2f} ms, bare regopy {theirs:.2f} ms"
        print(f"{kind:5} {size} bytes: {times}, ratio {ratio:.2f} ({pairs} pairs)")


if __name__ == "__main__":
    main()
