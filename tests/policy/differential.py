"""Asks OPA and the embedded engine the same about many policies, in two processes that live as long as the run.

`compare` says for each policy what happened: `refused` at load, `same`, `stricter` (no answer here), `lenient` (an
allowance here that OPA does not give, or a policy that OPA refuses), `other` (a value that differs), `crash`.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

DECISION, PROBE = "soclab/gateway/decision", "soclab/gateway/probe"
NO_ANSWER, UNDEFINED = "no answer", "undefined"
_WAIT = 20.0  # seconds for one policy in the embedded engine


@dataclass(frozen=True)
class Finding:
    """What came of one policy."""

    kind: str
    text: str
    detail: str = ""


class Opa:
    """A client of a running OPA server, one policy at a time."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def _send(self, method: str, path: str, body: str) -> tuple[int, Any]:
        self.connection.request(method, path, body.encode(), {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        raw = response.read()
        return response.status, json.loads(raw) if raw else None

    def data(self, value: Any) -> None:
        """Replace the data document."""
        for key, part in value.items():
            status, _ = self._send("PUT", f"/v1/data/{key}", json.dumps(part))
            assert status == 204

    def load(self, text: str) -> str:
        """Load a module in place of the one before; return OPA's words where it refuses."""
        status, said = self._send("PUT", "/v1/policies/p", text)
        return "" if status == 200 else json.dumps(said)[:600]

    def ask(self, entrypoint: str, document: Any) -> Any:
        """Return a value, or UNDEFINED, or NO_ANSWER."""
        status, said = self._send("POST", f"/v1/data/{entrypoint}", json.dumps({"input": document}))
        return NO_ANSWER if status != 200 else said.get("result", UNDEFINED)


def _serve(pipe: Any) -> None:
    """Answer for the embedded engine: [path, modules, data, entry points, documents] → values or a refusal."""
    from pytest_soclab.base.errors import PolicyError, PolicyUnavailable
    from pytest_soclab.policy import embedded
    from pytest_soclab.policy.prepared import prepare

    while True:
        modules, data, entrypoints, documents = pipe.recv()
        answers: list[Any] = []
        try:
            ready = prepare("p", modules, data)
            for entrypoint in entrypoints:
                interpreter = embedded._interpreter()
                bundle = embedded.compile_texts(interpreter, ready, entrypoint)
                for document in documents:
                    try:
                        interpreter.set_input(embedded.engine_input(document, whole_numbers=ready.calculates))
                        answers.append(embedded.ask(interpreter, bundle, entrypoint))
                    except PolicyUnavailable as error:
                        answers.append(UNDEFINED if "undefined" in str(error) else NO_ANSWER)
        except PolicyError as error:
            answers = [str(error)]
            pipe.send(("refused", answers))
            continue
        pipe.send(("answers", answers))


class Embedded:
    """The embedded engine in a process of its own, started again when a policy ends it."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._start()

    def _start(self) -> None:
        self.pipe, other = self._context.Pipe()
        self.process = self._context.Process(target=_serve, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def ask(self, modules: dict[str, str], data: Any, entrypoints: Sequence[str], documents: Sequence[Any]) -> Any:
        """Return ("answers", values), ("refused", [why]) or ("crash", [why])."""
        self.pipe.send((modules, data, list(entrypoints), list(documents)))
        try:
            if self.pipe.poll(_WAIT):
                return self.pipe.recv()
            why = f"no answer within {_WAIT:g} s"
        except EOFError:
            why = "the process ended"
        self.stop()
        self._start()
        return "crash", [why]

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def loosely(value: Any) -> Any:
    """Return a value with every list sorted: OPA writes sets sorted, the embedded engine as they come."""
    match value:
        case list():
            return sorted((loosely(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
        case dict():
            return {key: loosely(item) for key, item in value.items()}
        case float() if value.is_integer():
            return int(value)
    return value


@dataclass(frozen=True)
class Engines:
    """Both engines, with the same data."""

    opa: Opa
    embedded: Embedded
    data: Any

    def compare(self, modules: dict[str, str], documents: Sequence[Any], entrypoint: str = DECISION) -> Finding:
        """Return what came of one policy at an entry point on some inputs."""
        text = _joined(modules)
        kind, answers = self.embedded.ask(modules, self.data, [entrypoint], documents)
        if kind != "answers":
            return Finding(kind, text, answers[0])
        refusal = self.opa.load(text)
        if refusal:
            return Finding("lenient", text, f"OPA refuses: {refusal}")
        found = "same"
        for document, mine in zip(documents, answers, strict=True):
            theirs = self.opa.ask(entrypoint, document)
            if mine == NO_ANSWER:
                found = "stricter" if theirs != NO_ANSWER else found
            elif loosely(mine) != loosely(theirs):
                worse = _allows(mine) and not _allows(theirs)
                detail = json.dumps([entrypoint, document, mine, theirs])[:1500]
                return Finding("lenient" if worse else "other", text, detail)
        return Finding(found, text)


def _joined(modules: dict[str, str]) -> str:
    """Return modules of one package as one, as the server engine uploads them."""
    bodies = [text.partition("package soclab.gateway")[2] for text in modules.values()]
    return "package soclab.gateway\n" + "\n".join(bodies)


@contextmanager
def engines(program: str, data: Any) -> Iterator[Engines]:
    """Start both engines with some data and stop them at the end."""
    from pytest_soclab.policy.process import start_opa

    embedded = Embedded()
    try:
        with start_opa(program) as server:
            opa = Opa(server.port)
            opa.data(data)
            try:
                yield Engines(opa, embedded, data)
            finally:
                opa.connection.close()
    finally:
        embedded.stop()


def _allows(answer: Any) -> bool:
    """Tell whether an answer allows, as a decision or as one inside the probe."""
    if isinstance(answer, dict) and isinstance(answer.get("decision"), list):
        return any(_allows(item) for item in answer["decision"])
    return isinstance(answer, dict) and answer.get("outcome") == "allow"


def generated(both: Engines, seeds: Sequence[int], inputs: int = 3) -> Iterator[Finding]:
    """Yield what came of a generated policy for each seed."""
    from random import Random

    from rego_generator import Generator, document

    for seed in seeds:
        random = Random(seed)
        documents = [document(random) for _ in range(inputs)]
        entrypoint = DECISION if seed % 10 == 0 else PROBE
        yield both.compare({"p.rego": Generator(seed).module()}, documents, entrypoint)
