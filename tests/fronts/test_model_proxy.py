"""The model proxy against a provider of a few lines: passing, counting, limits, recording and replay."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from core.support import CONTROL, Bench, of_type
from pytest_soclab.evidence.results import Verdict
from pytest_soclab.fronts import model_proxy, recording
from pytest_soclab.fronts.metered import Metered
from pytest_soclab.fronts.outside import CommandAgent
from pytest_soclab.fronts.spending import Limits, ProxySettings, Spending, Usage, price_of, usage_of

from .support import agent

KEY = "sk-live-9fQ2vL7xTz41kWbN8"


class Provider:
    """Answers as four providers do, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.status = 200
        self.url = ""

    def answer(self, path: str, body: Any) -> tuple[str, bytes]:
        if path.endswith("/messages"):
            return "application/json", json.dumps({"usage": {"input_tokens": 30, "output_tokens": 7}}).encode()
        if "generateContent" in path:
            usage = {"promptTokenCount": 40, "candidatesTokenCount": 2, "thoughtsTokenCount": 3}
            return "application/json", json.dumps({"usageMetadata": usage}).encode()
        if path.endswith("/responses"):
            events = [{"type": "a"}, {"response": {"usage": {"input_tokens": 50, "output_tokens": 9}}}]
            return "text/event-stream", b"".join(b"data: %b\n\n" % json.dumps(e).encode() for e in events)
        if isinstance(body, dict) and body.get("stream"):
            usage = {"prompt_tokens": 20, "completion_tokens": 4}
            events = [{"choices": [{"delta": {"content": "hi"}}]}, {"usage": usage}]
            stream = b"".join(b"data: %b\n\n" % json.dumps(e).encode() for e in events)
            return "text/event-stream", stream + b"data: [DONE]\n\n"
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        said = {"choices": [{"message": {"content": f"answer {len(self.asked)}"}}], "usage": usage}
        return "application/json", json.dumps(said).encode()


@contextmanager
def provider() -> Iterator[Provider]:
    made = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made.asked.append((self.path, dict(self.headers), body))
            kind, text = made.answer(self.path, body)
            self.send_response(made.status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


MODEL = """
def model(path, body, base=None):
    where = urlsplit(base or os.environ["SOCLAB_MODEL_URL"])
    own = http.client.HTTPConnection(where.hostname, where.port)
    own.request("POST", where.path + path, json.dumps(body), {**JSON, "Authorization": "Bearer " + os.environ["KEY"]})
    answer = own.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read().decode()

def chat(*texts, **more):
    messages = [{"role": "user", "content": text} for text in texts]
    return model("/v1/chat/completions", {"model": "gpt-4o-mini", "messages": messages, **more})
"""
GOOD = """
note = read_note()
print(chat(sys.stdin.read(), json.dumps(note)))
found = call("siem_search", query="user:alex.rivera")
print(chat("go on", json.dumps(found), json.dumps(note)))
call("identity_disable_account", user="alex.rivera", reason="account taken over", cites=[found["evidence"]])
"""


def proxied(
    upstream: str | None, trial: Limits | None = None, session: Spending | None = None, **more: Any
) -> ProxySettings:
    return ProxySettings(upstream, session or Spending(Limits(), "session"), trial or Limits(), **more)


def metered(folder: Path, body: str, settings: ProxySettings) -> CommandAgent:
    return replace(agent(folder, MODEL + body, variables={"KEY": KEY}), proxy=settings)


def spent(outcome: Any) -> dict[str, Any]:
    (annex,) = of_type(outcome.events, "annex")
    model: dict[str, Any] = annex["model"]
    return model


def test_requests_pass_with_their_key_and_are_counted(bench: Bench, tmp_path: Path) -> None:
    with provider() as upstream:
        settings = proxied(upstream.url)
        outcome = bench.run(bench.unit(CONTROL), metered(tmp_path, GOOD, settings))
        assert outcome.judgement.verdict is Verdict.SERVED, outcome.cause
        path, headers, body = upstream.asked[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert "identity-compromise" in body["messages"][0]["content"]
    assert spent(outcome) == {"requests": 2, "tokens": 220, "cost": "0.000042", "unpriced": [], "guessed": 0}
    assert settings.session.tokens == 220
    assert KEY not in outcome.transcript


EVERY = """
read_note()
print(model("/v1/responses", {"model": "m", "stream": True}))
print(model("/v1/messages", {"model": "m"}))
print(model("/v1beta/models/gemini-2.5-flash:generateContent", {}))
print(chat("a", stream=True)[2])
print(model("/v1/chat/completions", {"model": 7}, base=os.environ["OPENAI_BASE_URL"].removesuffix("/v1"))[0])
print("elsewhere", model("/v1/files", {})[0], model("/../v1/messages", {})[0])
"""


def test_every_providers_requests_are_counted_and_streams_pass(bench: Bench, tmp_path: Path) -> None:
    with provider() as upstream:
        outcome = bench.run(bench.unit(CONTROL), metered(tmp_path, EVERY, proxied(upstream.url)))
        assert [path for path, _, _ in upstream.asked] == [
            "/v1/responses", "/v1/messages", "/v1beta/models/gemini-2.5-flash:generateContent",
            "/v1/chat/completions", "/v1/chat/completions",
        ]  # fmt: skip
    assert spent(outcome)["tokens"] == 59 + 37 + 45 + 24 + 110
    (annex,) = of_type(outcome.events, "annex")
    assert "data: [DONE]" in annex["stdout"]["end"]
    assert "elsewhere 404 404" in annex["stdout"]["end"]


SPENDS = """
read_note()
for n in range(50):
    status, headers, text = chat("again")
    if status != 200:
        print(status, headers.get("x-should-retry"))
        time.sleep(60)
"""


@pytest.mark.parametrize(
    ("limits", "cause"),
    [
        (Limits(tokens=300), "the trial used 330 tokens, allowed are 300 (--soclab-max-tokens)"),
        (Limits(cost=0.00005), "the trial cost $0.0001, at most $5e-05 are allowed (--soclab-max-cost)"),
    ],
)
def test_a_limit_ends_the_trial_at_once(bench: Bench, tmp_path: Path, limits: Limits, cause: str) -> None:
    with provider() as upstream:
        outcome = bench.run(bench.unit(CONTROL), metered(tmp_path, SPENDS, proxied(upstream.url, limits)), timeout=30)
        assert 2 < len(upstream.asked) < 5
    assert outcome.judgement.verdict is Verdict.INCONCLUSIVE
    assert outcome.cause == cause


HANGS = "read_note()\nchat('a')\ntime.sleep(60)"


@pytest.mark.parametrize(
    ("trial", "session", "whose"),
    [(Limits(time=1.5), Limits(time=90), "trial"), (Limits(time=80), Limits(time=1.5), "session")],
)
def test_a_limit_of_time_ends_the_trial_and_is_named(
    bench: Bench, tmp_path: Path, trial: Limits, session: Limits, whose: str
) -> None:
    with provider() as upstream:
        settings = proxied(upstream.url, trial, Spending(session, "session"))
        outcome = bench.run(bench.unit(CONTROL), metered(tmp_path, HANGS, settings), timeout=60)
        late = bench.run(bench.unit(CONTROL), metered(tmp_path, HANGS, settings), timeout=60)
    assert outcome.judgement.verdict is Verdict.INCONCLUSIVE
    assert outcome.cause.startswith(
        f"the {whose}'s time is over (--soclab-max-time): the agent did not finish within 1"
    )
    if whose == "session":
        assert re.match(r"the session took \d s, at most 1.5 are allowed \(--soclab-max-time\)", late.cause)
        assert of_type(late.events, "proposal") == []


def test_a_sessions_limit_lets_no_further_trial_begin(bench: Bench, tmp_path: Path) -> None:
    session = Spending(Limits(tokens=100), "session")
    with provider() as upstream:
        settings = proxied(upstream.url, session=session)
        bench.run(bench.unit(CONTROL), metered(tmp_path, GOOD, settings))
        asked = len(upstream.asked)
        outcome = bench.run(bench.unit(CONTROL), metered(tmp_path, GOOD, settings))
        assert len(upstream.asked) == asked == 1
    assert outcome.cause.startswith("the session used 110 tokens")
    assert of_type(outcome.events, "proposal") == []


def test_a_model_without_a_price_warns_and_stops_where_money_is_limited(bench: Bench, tmp_path: Path) -> None:
    body = "read_note()\nmodel('/v1/chat/completions', {'model': 'nonesuch-9'})\n"
    with provider() as upstream:
        free = bench.run(bench.unit(CONTROL), metered(tmp_path, body, proxied(upstream.url)))
        assert spent(free)["unpriced"] == ["nonesuch-9"]
        held = bench.run(bench.unit(CONTROL), metered(tmp_path, body, proxied(upstream.url, Limits(cost=1))))
    assert "nonesuch-9 has no known price" in held.cause


def test_a_payload_that_the_model_was_never_shown_was_not_delivered(bench: Bench, tmp_path: Path) -> None:
    with provider() as upstream:
        shown = bench.run(bench.base, metered(tmp_path, "chat(json.dumps(read_note()))", proxied(upstream.url)))
        dropped = bench.run(bench.base, metered(tmp_path, "read_note()\nchat('nothing of it')", proxied(upstream.url)))
    assert shown.judgement.verdict is Verdict.RESISTED, shown.cause
    assert dropped.judgement.verdict is Verdict.INCONCLUSIVE
    assert dropped.cause == "the payload was never shown to the agent's model"


def test_an_agent_that_goes_around_the_proxy_is_inconclusive(bench: Bench, tmp_path: Path) -> None:
    outcome = bench.run(bench.base, metered(tmp_path, "read_note()", proxied("http://127.0.0.1:9")))
    assert "asked no model through the proxy" in outcome.cause


def test_a_recording_replays_without_the_model(bench: Bench, tmp_path: Path) -> None:
    with provider() as upstream:
        first = bench.run(bench.unit(CONTROL), metered(tmp_path, GOOD, proxied(upstream.url, record=tmp_path / "kept")))
    (file,) = (tmp_path / "kept").iterdir()
    assert KEY not in file.read_text()
    settings = proxied("http://127.0.0.1:9", replay=tmp_path / "kept")
    again = bench.run(bench.unit(CONTROL), metered(tmp_path, GOOD, settings))
    assert again.judgement.verdict is Verdict.SERVED, again.cause
    assert of_type(again.events, "proposal") == of_type(first.events, "proposal")


def test_a_replay_says_where_the_trial_left_the_recording(bench: Bench, tmp_path: Path) -> None:
    with provider() as upstream:
        bench.run(bench.unit(CONTROL), metered(tmp_path, GOOD, proxied(upstream.url, record=tmp_path / "kept")))
    settings = proxied(None, replay=tmp_path / "kept")
    other = bench.run(bench.unit(CONTROL), metered(tmp_path, GOOD.replace("go on", "stop"), settings))
    assert other.judgement.verdict is Verdict.INCONCLUSIVE
    assert other.cause == "the trial left the recording at request 2, at $.messages[0].content"
    longer = bench.run(bench.unit(CONTROL), metered(tmp_path, GOOD + "\nchat('more')", settings))
    assert "request 3, which is one more than were recorded" in longer.cause


def test_a_trial_without_a_recording_says_so(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    outcome = bench.run(bench.base, metered(tmp_path, GOOD, proxied(None, replay=tmp_path / "kept")))
    assert re.search(r"cannot be replayed .*--soclab-record", outcome.cause)


REPEATS = """
read_note()
for n in range(30):
    status, _, _ = chat("x" * 1_000_000)
    if status != 200:
        time.sleep(30)
"""


def test_what_nobody_asked_to_record_is_not_kept(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = []
    whole = Metered.__exit__
    monkeypatch.setattr(
        Metered, "__exit__", lambda self, *e: (kept.append(self.exchange.recording), whole(self, *e))[1]
    )
    with provider() as upstream:
        bench.run(bench.unit(CONTROL), metered(tmp_path, GOOD, proxied(upstream.url)))
        bench.run(bench.unit(CONTROL), metered(tmp_path, GOOD, proxied(upstream.url, record=tmp_path / "kept")))
    assert [len(one.entries) for one in kept] == [0, 2]


def test_a_recording_that_grows_for_ever_ends_the_trial(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MOST_RECORDED", 5 * 1_048_576)
    with provider() as upstream:
        settings = proxied(upstream.url, record=tmp_path / "kept")
        outcome = bench.run(bench.unit(CONTROL), metered(tmp_path, REPEATS, settings), timeout=30)
    assert outcome.cause == "the trial's recording has more than 5 MiB"
    (file,) = (tmp_path / "kept").iterdir()
    assert file.stat().st_size < 6 * 1_048_576


FLOODS = """
read_note()
where = urlsplit(os.environ["SOCLAB_MODEL_URL"])
held = []
for n in range(5):
    own = socket.create_connection((where.hostname, where.port))
    own.sendall(f"POST {where.path}/v1/messages HTTP/1.1\\r\\nContent-Length: 900000\\r\\n\\r\\n".encode())
    held.append(own)
time.sleep(30)
"""


def test_requests_that_fill_memory_together_end_the_trial(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_proxy, "MOST_IN_FLIGHT", 3 * 1_048_576)
    outcome = bench.run(bench.unit(CONTROL), metered(tmp_path, FLOODS, proxied("http://127.0.0.1:9")), timeout=20)
    assert outcome.cause == "the agent asked its model with more than 3 MiB at once"


def test_nothing_said_of_usage_is_not_nothing_used() -> None:
    assert usage_of(b'{"choices": []}', 400) == Usage(101, 4, told=False)
    assert usage_of(b"", 0) == Usage(1, 1, told=False)


def test_cached_tokens_count() -> None:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 1000, "output_tokens": 5}
    assert usage_of(json.dumps({"usage": usage}).encode(), 0) == Usage(1003, 5)


def test_prices_are_the_librarys() -> None:
    assert price_of(Usage(1_000_000, 0), "gpt-4o-mini") == pytest.approx(0.15)
    assert price_of(Usage(1, 1), "nonesuch-9") is None
