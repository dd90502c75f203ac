"""A secret of an OPA server is used and never stored or printed; in an address it is refused."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from policy_inputs import call

from pytest_soclab.base.errors import UsageError
from pytest_soclab.policy.model import PolicyOutcome
from pytest_soclab.policy.server import ServerEngine

SECRET = "s3cret-pass"
AUTHZ = """package system.authz

default allow := false

allow if input.identity == "s3cret-pass"

allow if input.path == ["health"]
"""


@pytest.fixture(scope="module")
def guarded(opa: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start an OPA that wants a token."""
    rules = tmp_path_factory.mktemp("authz") / "authz.rego"
    rules.write_text(AUTHZ)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    options = ["run", "--server", f"--addr=127.0.0.1:{port}", "--authentication=token", "--authorization=basic"]
    running = subprocess.Popen([opa, *options, str(rules)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    for _ in range(300):
        try:
            urlopen(f"{url}/health", timeout=1).close()
            break
        except (URLError, OSError):
            time.sleep(0.1)
    yield url
    running.kill()
    running.wait()


def test_a_token_opens_the_server(guarded, bundled, monkeypatch) -> None:
    monkeypatch.setenv("MY_OPA_TOKEN", f" {SECRET}\n")
    engine = ServerEngine.connect(guarded, bundled, token_env="MY_OPA_TOKEN")
    assert engine.decide(call("read")).outcome is PolicyOutcome.ALLOW
    assert SECRET not in str(vars(engine)) + str(engine.address)
    engine.close()


@pytest.mark.parametrize("token", [None, "wrong-token"])
def test_without_the_right_token_nothing_is_decided(guarded, bundled, monkeypatch, token) -> None:
    monkeypatch.setenv("MY_OPA_TOKEN", token or "")
    with pytest.raises(UsageError) as raised:
        ServerEngine.connect(guarded, bundled, token_env="MY_OPA_TOKEN" if token else None)
    assert "wrong-token" not in str(raised.value)


def test_a_token_of_a_netrc_file_does_not_take_its_place(guarded, bundled, monkeypatch, tmp_path) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login someone password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("MY_OPA_TOKEN", SECRET)
    ServerEngine.connect(guarded, bundled, token_env="MY_OPA_TOKEN").close()


@pytest.mark.parametrize("value", ["", "  ", "two words", "with\nbreak", "ü"])
def test_a_variable_without_a_token_is_refused(bundled, monkeypatch, value) -> None:
    monkeypatch.setenv("MY_OPA_TOKEN", value)
    with pytest.raises(UsageError, match=r"the variable 'MY_OPA_TOKEN' (is not set|holds no token)"):
        ServerEngine.connect("http://127.0.0.1:9", bundled, token_env="MY_OPA_TOKEN")


@pytest.mark.parametrize("address", [f"http://user:{SECRET}@127.0.0.1:8181", f"http://127.0.0.1:8181/?token={SECRET}"])
@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_a_secret_in_an_address_is_refused_and_goes_nowhere(pytester, address, workers) -> None:
    result = pytester.runpytest_subprocess(
        "-p", "no:cacheprovider", "--soclab-bundled", f"--soclab-opa-url={address}", *workers
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = result.stdout.str() + result.stderr.str()
    assert "--soclab-opa-token-env=NAME" in said
    assert SECRET not in said
    written = [Path(folder) / name for folder, _, names in os.walk(pytester.path) for name in names]
    assert not [file for file in written if SECRET.encode() in file.read_bytes()]


def test_a_token_without_a_server_is_a_usage_error(pytester) -> None:
    result = pytester.runpytest_subprocess("--soclab-opa-token-env=X", "--soclab-bundled")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*add --soclab-opa-url=URL*"])
