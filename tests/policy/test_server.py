"""The server engine against a real OPA: same decisions, and an allowance in no fault."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from policy_inputs import ALONE, call, stream

from pytest_soclab.base.errors import PolicyError, PolicyUnavailable, UsageError
from pytest_soclab.policy import process as process_module
from pytest_soclab.policy import server as server_module
from pytest_soclab.policy.load import load_policy
from pytest_soclab.policy.model import DecisionInput, Obligation, PolicyOutcome
from pytest_soclab.policy.process import start_opa
from pytest_soclab.policy.server import ServerEngine

ALLOW = """package soclab.gateway

decision := {"outcome": "allow", "reasons": [], "obligations": []}
"""
READ = call("read")
PARITY = 5200


@pytest.fixture(scope="module")
def shared(opa):
    with start_opa(opa) as running:
        yield running


@pytest.fixture
def own(opa):
    with start_opa(opa) as running:
        yield running


@pytest.fixture
def engine(own, bundled):
    connected = ServerEngine.connect(own.url, bundled, timeout=0.5)
    assert connected.decide(READ).outcome is PolicyOutcome.ALLOW
    yield connected
    connected.close()


def unavailable(engine, words: str, document=READ) -> str:
    with pytest.raises(PolicyUnavailable) as raised:
        engine.decide(document)
    assert words in str(raised.value)
    return str(raised.value)


def send(method: str, url: str, body: bytes, kind: str = "text/plain") -> None:
    with urlopen(Request(url, data=body, method=method, headers={"Content-Type": kind}), timeout=5) as answer:
        assert answer.status < 300


# ---- parity


def test_both_engines_give_the_same_decision_on_every_input(shared, bundled, embedded):
    documents = list(stream(20_260_302, PARITY))
    server = ServerEngine.connect(shared.url, bundled, timeout=10)
    with ThreadPoolExecutor(3) as pool:
        by_server = pool.map(server.decide, documents)
        by_embedded = [embedded.decide(document) for document in documents]
        differing = [
            (here, there, json.dumps(document))
            for document, here, there in zip(documents, by_embedded, by_server, strict=True)
            if here != there
        ]
    assert differing == []
    reasons = {reason for decision in by_embedded for reason in decision.reasons}
    assert reasons == {rule.reason for rule in bundled.rules} == set(ALONE)
    outcomes = [decision.outcome for decision in by_embedded]
    assert min(outcomes.count(outcome) for outcome in PolicyOutcome) > PARITY // 10
    assert {obligation for decision in by_embedded for obligation in decision.obligations} == set(Obligation)
    server.close()


def test_the_generated_inputs_are_valid():
    for document in stream(20_260_302, 300):
        if document["tool"]["authority"] in ("observe", "note", "act", ""):
            DecisionInput.model_validate(document)


# ---- loading


def test_two_engines_can_share_a_server(shared, bundled):
    first, second = (ServerEngine.connect(shared.url, bundled) for _ in range(2))
    first.close()
    assert second.decide(READ).outcome is PolicyOutcome.ALLOW
    second.verify()
    assert (second.kind, second.address) == ("server", shared.url)


def test_a_later_session_replaces_what_an_earlier_one_left(own, policy_dir):
    helpers = "package acme.helpers\n\nfine if input.level > 1\n"
    text = (
        "package soclab.gateway\n\nimport rego.v1\nimport data.acme.helpers\n\n"
        'decision := {"outcome": "allow", "reasons": [], "obligations": []} if helpers.fine\n'
    )
    first = ServerEngine.connect(own.url, load_policy(policy_dir(text, helpers__rego=helpers)))
    assert first.decide(READ).outcome is PolicyOutcome.ALLOW
    directory = policy_dir(ALLOW.replace('"allow", "reasons": []', '"deny", "reasons": ["no"]'))
    (directory / "helpers.rego").unlink()
    second = ServerEngine.connect(own.url, load_policy(directory))
    assert second.decide(READ).reasons == ("no",)
    with urlopen(f"{own.url}/v1/policies", timeout=5) as listed:
        held = {module["id"] for module in json.load(listed)["result"]}
    assert held == {"pytest-soclab/soclab.gateway", "pytest-soclab/soclab.session"}
    unavailable(first, "policy_changed")


def test_modules_of_one_package_may_use_each_other(own, policy_dir):
    text = "package soclab.gateway\n\nimport data.limits as l\n\ndecision := d if l.most > 1\n"
    other = (
        'package soclab.gateway\n\nd := {"outcome": "deny", "reasons": [why], "obligations": []}\n\nwhy := "x" # y\n'
    )
    directory = policy_dir(text, other__rego=other, data__yaml='limits: {most: 2, "zoë~/": [1, null]}\nflag: true\n')
    engine = ServerEngine.connect(own.url, load_policy(directory))
    assert engine.decide(READ).reasons == ("x",)


def test_a_builtin_that_only_opa_has_works_here(own, policy_dir):
    text = ALLOW.replace("}\n", '} if net.cidr_contains("192.0.2.0/24", input.address)\n')
    engine = ServerEngine.connect(own.url, load_policy(policy_dir(text)))
    assert engine.decide({"address": "192.0.2.7"}).outcome is PolicyOutcome.ALLOW
    unavailable(engine, "undefined", {"address": "198.51.100.1"})


def test_a_policy_that_opa_does_not_compile_is_told_with_file_and_line(own, policy_dir):
    more = "package soclab.gateway\n\n# a comment\nfine if true\n\nbroken if {\n\tlowerr(input.a)\n}\n"
    with pytest.raises(PolicyError, match=r"more\.rego:7: OPA does not compile it: .*undefined function lowerr"):
        ServerEngine.connect(own.url, load_policy(policy_dir(ALLOW, more__rego=more)))


def test_imports_that_clash_in_one_package_are_refused(own, policy_dir):
    text = ALLOW.replace("\n\n", "\n\nimport data.a.x\n\n", 1)
    more = "package soclab.gateway\n\nimport data.b.x\n\ny := x\n"
    with pytest.raises(PolicyError, match=r"policy\.rego: imports data\.a\.x as x, another module data\.b\.x"):
        ServerEngine.connect(own.url, load_policy(policy_dir(text, more__rego=more)))


def test_a_server_with_a_policy_of_its_own_in_our_package_is_refused(own, bundled):
    send("PUT", f"{own.url}/v1/policies/mine", ALLOW.encode())
    with pytest.raises(UsageError, match=r"holds a policy of its own in soclab\.gateway: 'mine'"):
        ServerEngine.connect(own.url, bundled)


def test_nothing_listens_at_the_address(bundled):
    url = f"http://127.0.0.1:{process_module._free_port()}"
    started = time.monotonic()
    with pytest.raises(UsageError) as raised:
        ServerEngine.connect(url, bundled)
    assert time.monotonic() - started < 2
    assert f"no OPA at '{url}'" in str(raised.value)
    assert "leave it out for the embedded engine" in str(raised.value)


@pytest.mark.parametrize("url", ["127.0.0.1:8181", "ftp://a:1", "http://", "http://a:99999", "http://a:1/v1", "x"])
def test_what_is_no_address_is_told(bundled, url):
    with pytest.raises(UsageError, match="expected http://HOST:PORT"):
        ServerEngine.connect(url, bundled)


def test_a_proxy_is_not_asked_for_this_machine(shared, bundled, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert ServerEngine.connect(shared.url, bundled).decide(READ).outcome is PolicyOutcome.ALLOW


# ---- faults of the server while the session runs


def test_killed(engine, own):
    own.process.kill()
    own.process.wait()
    started = time.monotonic()
    for _ in range(5):
        unavailable(engine, own.url)
    assert time.monotonic() - started < 2


def test_paused_and_resumed(engine, own, monkeypatch):
    monkeypatch.setattr(server_module, "_REST", 0.2)
    os.kill(own.process.pid, signal.SIGSTOP)
    try:
        started = time.monotonic()
        for _ in range(20):
            unavailable(engine, "answer")
        assert time.monotonic() - started < 6
    finally:
        os.kill(own.process.pid, signal.SIGCONT)
    time.sleep(0.3)
    assert engine.decide(READ).outcome is PolicyOutcome.ALLOW


def restart(own, opa: str, *policies) -> None:
    own.process.kill()
    own.process.wait()
    command = [opa, "run", "--server", "--addr", f"127.0.0.1:{own.port}", "--log-level", "error", *map(str, policies)]
    own.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert process_module._ready(own)


def test_restarted_with_another_policy_and_loaded_again(engine, own, opa, tmp_path, bundled):
    (tmp_path / "allow.rego").write_text(ALLOW, encoding="utf-8")
    restart(own, opa, tmp_path / "allow.rego")
    for _ in range(3):
        unavailable(engine, "policy_changed")
    with pytest.raises(UsageError, match="a policy of its own"):
        engine.load()
    restart(own, opa)
    unavailable(engine, "policy_changed")
    engine.load()
    assert engine.decide(READ).outcome is PolicyOutcome.ALLOW


def test_restarted_with_the_same_policy_but_not_by_the_session(engine, own, opa, policies):
    restart(own, opa, policies)
    unavailable(engine, "policy_changed")


def test_a_module_is_replaced(engine, own, monkeypatch):
    monkeypatch.setattr(server_module, "_CHECK_EVERY", 0.0)
    assert engine.decide(READ).outcome is PolicyOutcome.ALLOW
    send("PUT", f"{own.url}/v1/policies/pytest-soclab/soclab.gateway", ALLOW.encode())
    unavailable(engine, "policy_changed: the server at")
    with pytest.raises(PolicyUnavailable, match=r"holds other modules: 'pytest-soclab/soclab\.gateway'"):
        engine.verify()


def test_a_module_is_added_to_our_package(engine, own, monkeypatch):
    monkeypatch.setattr(server_module, "_CHECK_EVERY", 0.0)
    send("PUT", f"{own.url}/v1/policies/extra", b"package soclab.gateway\n\nobserves if true\n")
    unavailable(engine, "holds other modules: 'extra'")


def test_the_data_is_changed(engine, own):
    send("PUT", f"{own.url}/v1/data/soclab/settings/least_level", b'{"act": 1}', "application/json")
    unavailable(engine, "policy_changed")


def test_a_document_that_is_no_json(engine):
    for value in (float("nan"), "\ud800", {1}):
        unavailable(engine, "no JSON", call("read") | {"arguments": {"q": value}})


# ---- servers that are no OPA


class Stub(BaseHTTPRequestHandler):
    answer = (200, b"{}")
    delay = 0.0

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        time.sleep(self.delay)
        status, body = self.answer
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass  # the engine has gone away, as it should

    do_GET = do_PUT = do_POST

    def log_message(self, *parts):
        pass


@pytest.fixture
def stub():
    class Own(Stub):
        pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    httpd.daemon_threads = True
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    Own.url = f"http://127.0.0.1:{httpd.server_port}"
    yield Own
    httpd.shutdown()
    httpd.server_close()


ALLOWED = {"outcome": "allow", "reasons": [], "obligations": []}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b'{"code": "internal_error"}'),
        (500, json.dumps({"result": {"decision": ALLOWED}}).encode()),
        (404, b"not found"),
        (200, b""),
        (200, b"<html>garbage</html>"),
        (200, b"\xff\xfe\x00"),
        (200, b"[]"),
        (200, b"null"),
        (200, b'{"result": null}'),
        (200, b'{"result": []}'),
        (200, b'{"result": true}'),
        (200, b'{"result": {}}'),
        (200, b"{}"),
        (200, json.dumps({"result": {"decision": ALLOWED}}).encode()),
        (200, json.dumps({"result": {"decision": ALLOWED, "digest": "0" * 64, "kept": True}}).encode()),
        (200, b'{"result": ' + b"[" * 100_000),
    ],
)
def test_a_server_that_lies_is_not_believed(stub, bundled, status, body):
    stub.answer = (status, body)
    engine = ServerEngine(stub.url, bundled, timeout=1)
    unavailable(engine, "")
    with pytest.raises(UsageError):
        ServerEngine.connect(stub.url, bundled, timeout=1)


@pytest.mark.parametrize(
    ("envelope", "words"),
    [
        ({}, "undefined"),
        ({"decision": {**ALLOWED, "outcome": "maybe"}}, "found the outcome 'maybe'"),
        ({"decision": {**ALLOWED, "obligations": ["notify"]}}, "unknown obligation 'notify'"),
        ({"decision": ALLOWED, "kept": False}, "policy_changed"),
    ],
)
def test_a_wrong_answer_in_the_right_envelope_is_no_answer(stub, bundled, envelope, words):
    stub.answer = (200, json.dumps({"result": {"digest": bundled.digest, "kept": True, **envelope}}).encode())
    unavailable(ServerEngine(stub.url, bundled), words)


def test_a_server_that_is_slow_by_ten_seconds_is_not_waited_for(stub, bundled):
    stub.delay = 10
    stub.answer = (200, json.dumps({"result": {"digest": bundled.digest, "kept": True, "decision": ALLOWED}}).encode())
    engine = ServerEngine(stub.url, bundled, timeout=0.5)
    started = time.monotonic()
    for _ in range(3):
        unavailable(engine, "no answer from OPA")
    assert time.monotonic() - started < 3
    started = time.monotonic()
    unavailable(engine, "gave no answer 3 times in a row")
    assert time.monotonic() - started < 0.2


def test_a_server_that_drips_is_not_waited_for(stub, bundled):
    def drip(handler):
        handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(50):
            try:
                handler.wfile.write(b" ")
            except OSError:
                return
            time.sleep(0.1)

    stub.do_POST = stub.do_GET = drip
    engine = ServerEngine(stub.url, bundled, timeout=0.5)
    started = time.monotonic()
    unavailable(engine, "not done within 0.5 s")
    assert time.monotonic() - started < 2


# ---- the process


def test_a_started_server_ends_with_stop(opa):
    running = start_opa(opa)
    pid = running.process.pid
    running.stop()
    running.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_no_such_binary(tmp_path):
    with pytest.raises(UsageError, match=r"nowhere' does not exist; install OPA 1\.x"):
        start_opa(str(tmp_path / "nowhere"))
    (tmp_path / "text").write_text("not a program", encoding="utf-8")
    with pytest.raises(UsageError, match="is no program that may be run"):
        start_opa(str(tmp_path / "text"))


def test_a_binary_that_is_no_opa(tmp_path):
    program = tmp_path / "opa"
    program.write_text("#!/bin/sh\necho unknown command run >&2\nexit 3\n", encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(UsageError, match=r"did not become a ready OPA server .*'unknown command run'"):
        start_opa(str(program))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_a_started_server_ends_when_the_session_is_killed(opa):
    code = (
        "import sys, time; from pytest_soclab.policy.process import start_opa\n"
        f"print(start_opa({opa!r}).process.pid, flush=True)\ntime.sleep(60)\n"
    )
    session = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pid = int(session.stdout.readline())
    session.kill()
    session.wait()
    session.stdout.close()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and _runs(pid):
        time.sleep(0.05)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
