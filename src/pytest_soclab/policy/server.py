"""The server engine: a real OPA, asked through opa-python-client.

The session's policy is put into the server under our own ids. Each decision comes in an envelope with the session's
digest and whether the data still stands, so that a server that was restarted or given other data is noticed at once;
the modules themselves are compared about once a second and by `verify`. Nothing is repeated, and no silence is an
allowance: whatever goes wrong is `PolicyUnavailable`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Literal, TypeVar, cast
from urllib.parse import quote as percent
from urllib.parse import urlsplit

from pytest_soclab.base.clock import monotonic
from pytest_soclab.base.errors import Fault, PolicyError, PolicyUnavailable, UsageError, quote
from pytest_soclab.policy.answer import parse_answer
from pytest_soclab.policy.model import Decision, PolicySource
from pytest_soclab.policy.upload import PREFIX, SESSION, Upload, uploads

TIMEOUT = 1.5
_CHECK_EVERY = 1.0  # seconds between two comparisons of the modules
_PATIENCE = 3  # questions without any answer, after which none is asked for a while
_REST = 5.0  # seconds of that while
_GRACE = 0.25  # seconds beyond the client's own limit, so that its better message comes first
T = TypeVar("T")
_REMEDY = "start it with `opa run --server`, correct --soclab-opa-url, or leave it out for the embedded engine"
_LOADING = 20.0  # seconds for loading a policy, all its requests together


class ServerEngine:
    """Decides with an OPA server."""

    kind: Literal["embedded", "server"] = "server"

    def __init__(self, url: str, source: PolicySource, timeout: float = TIMEOUT, token_env: str | None = None) -> None:
        """Remember the server; `connect` is what makes an engine ready to decide."""
        self.source = source
        self.address: str | None = url
        self.timeout = timeout
        self.checked_by = "opa"
        self._uploads = uploads(source)
        self._client = _client(url, timeout)
        if token_env is not None:
            self._client._session.auth = _bearer(token_env)
        self._checked = monotonic()
        self._silent = 0
        self._resting_until = 0.0

    @classmethod
    def connect(
        cls, url: str, source: PolicySource, timeout: float = TIMEOUT, token_env: str | None = None
    ) -> ServerEngine:
        """Load the policy into the server at `url` and return an engine that decides there.

        `token_env` names the environment variable that holds the server's bearer token.

        Raises:
            UsageError: when the token is missing, nothing answers there, what answers is no OPA, or it holds foreign
                modules in our packages.
            PolicyError: when OPA does not compile the policy.
        """
        engine = cls(url, source, timeout, token_env)
        try:
            engine.load()
        except BaseException:
            engine.close()
            raise
        return engine

    def load(self) -> None:
        """Put the session's policy and data into the server, in place of what an earlier session left there."""
        try:
            _within(_LOADING, self._load)
        except (PolicyError, UsageError):
            raise
        except Exception as error:  # as in `_ask`
            raise UsageError(f"no OPA at {quote(self.address)}: {_why(error)}; {_REMEDY}") from None

    def _load(self) -> None:
        for name in self._foreign():
            self._client.delete_policy(name)
        for key, value in self.source.data.items():
            self._client.patch_data(percent(key, safe=""), [{"op": "add", "path": "", "value": value}])
        self._upload_all()
        self._compare()
        self.checked_by = f"opa {self._version()}".rstrip()

    def _version(self) -> str:
        """Return the server's version, an empty text where it does not say."""
        answer = self._client.ad_hoc_query(query="version := opa.runtime().version")
        found = answer.get("result") if isinstance(answer, Mapping) else None
        version = found[0].get("version") if isinstance(found, list) and found and isinstance(found[0], Mapping) else ""
        return version if isinstance(version, str) else ""

    def decide(self, document: Mapping[str, Any]) -> Decision:
        """Return the decision on an input; raises PolicyUnavailable where there is no trustworthy answer in time."""
        _sendable(document)
        self._rest()
        started = monotonic()
        if started - self._checked > _CHECK_EVERY:
            self.verify()
        envelope = self._ask(document)
        if envelope.get("digest") != self.source.digest or envelope.get("kept") is not True:
            raise PolicyUnavailable(
                f"policy_changed: the server at {self.address} no longer holds the session's policy"
            )
        if "decision" not in envelope:
            raise PolicyUnavailable("the policy's decision is undefined")
        return parse_answer(envelope["decision"], self.source.names)

    def verify(self) -> None:
        """Compare the server's modules with the session's, word for word.

        Raises:
            PolicyUnavailable: when one is changed, missing or added, or the server does not answer.
        """
        try:
            _within(2 * self.timeout, self._compare)
        except PolicyUnavailable:
            raise
        except Exception as error:
            raise self._no_answer(error) from None
        self._checked = monotonic()

    def close(self) -> None:
        """Close the connection; the policy stays in the server, where another worker may be using it."""
        self._client.close_connection()

    def _ask(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            body = _within(self.timeout, lambda: self._client.query_rule(document, SESSION, "envelope"))
            envelope = body.get("result", {})
        except Exception as error:  # the connection's, the client's and the reader's errors share no other base
            raise self._no_answer(error) from None
        if not isinstance(envelope, Mapping):
            raise PolicyUnavailable(f"OPA's answer is malformed: {quote(envelope)}")
        self._silent = 0
        return envelope

    def _no_answer(self, error: Exception) -> PolicyUnavailable:
        self._silent += 1
        if self._silent >= _PATIENCE:
            self._resting_until = monotonic() + _REST
        return PolicyUnavailable(f"no answer from OPA at {self.address}: {_why(error)}")

    def _rest(self) -> None:
        if monotonic() < self._resting_until:
            raise PolicyUnavailable(f"OPA at {self.address} gave no answer {self._silent} times in a row")

    def _foreign(self) -> list[str]:
        """Return the ids of ours that an earlier session left; foreign modules in our packages are refused."""
        packages = {upload.package for upload in self._uploads}
        wanted = {upload.id for upload in self._uploads}
        held = self._packages()
        foreign = [name for name, package in held.items() if package in packages and not name.startswith(PREFIX)]
        if foreign:
            raise UsageError(
                f"the OPA at {self.address} holds a policy of its own in {held[foreign[0]]}: {quote(foreign[0])}; "
                "start it without (the session loads the policy of --soclab-policies itself)"
            )
        return [name for name in held if name.startswith(PREFIX) and name not in wanted]

    def _packages(self) -> dict[str, str]:
        """Return the package of each module that the server holds."""
        held = self._client.get_policies_info()
        return {name: info["path"].partition("/v1/data/")[2].replace("/", ".") for name, info in held.items()}

    def _upload_all(self) -> None:
        """Upload every module; one that needs another is tried again after it."""
        waiting = list(self._uploads)
        while waiting:
            faults = {upload.id: fault for upload in waiting if (fault := self._upload(upload))}
            if len(faults) == len(waiting):
                raise PolicyError(*faults[waiting[0].id])
            waiting = [upload for upload in waiting if upload.id in faults]

    def _upload(self, upload: Upload) -> list[Fault]:
        from opa_client.errors import RegoParseError

        try:
            self._client.update_policy_from_string(upload.text, upload.id, rego_compat=False)
        except RegoParseError as error:
            return [_compile_fault(upload, found) for found in error.errors or [{"message": str(error)}]]
        return []

    def _compare(self) -> None:
        packages = {upload.package for upload in self._uploads}
        held = {name for name, package in self._packages().items() if package in packages}
        changed = held ^ {upload.id for upload in self._uploads}
        for upload in self._uploads:
            if not changed and self._client.get_policy(upload.id)["result"]["raw"] != upload.text:
                changed = {upload.id}
        if changed:
            names = ", ".join(map(quote, sorted(changed)))
            raise PolicyUnavailable(f"policy_changed: the server at {self.address} holds other modules: {names}")


def _within(seconds: float, ask: Callable[[], T]) -> T:
    """Return what `ask` returns; the client's own limit is on each pause of the server, not on the whole answer.

    Raises:
        TimeoutError: when it takes longer; what it is doing goes on in a thread of its own until the server closes.
    """
    answers: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()

    def run() -> None:
        try:
            answers.put((ask(), None))
        except BaseException as error:
            answers.put((None, error))

    Thread(target=run, daemon=True, name="soclab-opa").start()
    try:
        answer, error = answers.get(timeout=seconds + _GRACE)
    except Empty:
        raise TimeoutError(f"not done within {seconds:g} s") from None
    if error is not None:
        raise error
    return cast("T", answer)


def _client(url: str, timeout: float) -> Any:
    from opa_client import OpaClient

    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 8181)
    except ValueError:
        port = 0
    if parts.scheme not in ("http", "https") or not parts.hostname or not port or parts.path.strip("/") or parts.query:
        raise UsageError(f"found the OPA address {quote(url)}, expected http://HOST:PORT; {_REMEDY}")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    client = OpaClient(host, port, ssl=parts.scheme == "https", retries=0, timeout=timeout)
    if parts.hostname in ("127.0.0.1", "::1", "localhost"):
        client._session.trust_env = False  # a proxy is never asked for this machine
    return client


def _bearer(variable: str) -> Callable[[Any], Any]:
    """Return what puts a server's token on each request, and nowhere else: no message and no file holds it.

    Raises:
        UsageError: when the environment has no such variable, or no token in it.
    """
    token = os.environ.get(variable, "").strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        found = "is not set" if not token else "holds no token"
        raise UsageError(
            f"--soclab-opa-token-env: the variable {quote(variable)} {found}; export it, as plain characters"
        )

    def sign(request: Any) -> Any:
        request.headers["Authorization"] = f"Bearer {token}"
        return request

    return sign


def _sendable(document: Mapping[str, Any]) -> None:
    try:
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise PolicyUnavailable(f"the input is no JSON: {quote(str(error))}") from None


def _compile_fault(upload: Upload, found: Mapping[str, Any]) -> Fault:
    file, line = upload.place(int(found.get("location", {}).get("row", 0)))
    return Fault(f"OPA does not compile it: {found.get('message')}", file, line, remedy="try `opa check --strict`")


def _why(error: Exception) -> str:
    return quote(" ".join(str(error).split()) or type(error).__name__)
