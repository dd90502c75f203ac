"""Files of a policy that have no end, no bottom or no measure are refused at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from pytest_soclab.base.errors import PolicyError, ScenarioError
from pytest_soclab.policy.load import load_policy
from pytest_soclab.reading import yaml_source

MODULE = """package soclab.gateway

decision := {"outcome": "allow", "reasons": [], "obligations": []}
"""


@pytest.mark.parametrize("name", ["policy.rego", "data.json", "data.yaml"])
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "device"])
def test_what_has_no_end_is_not_read(policy_dir, name: str, make) -> None:
    folder = policy_dir(MODULE) if name != "policy.rego" else policy_dir(other__rego=MODULE)
    make(folder / name)
    with pytest.raises(PolicyError, match=rf"{name}: is no regular file"):
        load_policy(folder)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "device"])
def test_nor_is_a_scenario(tmp_path, make) -> None:
    make(tmp_path / "ATK-001.yaml")
    with pytest.raises(ScenarioError, match="found a pipe or a device, expected a readable YAML file"):
        yaml_source.read(tmp_path / "ATK-001.yaml")


def test_many_keys_are_read_in_a_short_time(policy_dir) -> None:
    text = "{" + ",".join(f'"k{n}":{n}' for n in range(50_000)) + "}"
    started = time.monotonic()
    assert len(load_policy(policy_dir(MODULE, data__json=text)).data) == 50_000
    assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("data.json", '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nests too deep"),
        ("data.json", '{"a": 1, "b": 2, "a": 3}', "the key 'a' stands twice"),
        ("data.json", '{"a": ' + "9" * 9000 + "}", "is not finite or beyond"),
        ("data.yaml", "a: 0x" + "f" * 9000, "a number of more than 40 digits"),
        ("other.rego", f"package soclab.gateway\n\nlimit := {'9' * 9000}\n", r"expected at most 2\^53"),
    ],
)  # fmt: skip
def test_what_has_no_measure_is_refused_without_a_traceback(policy_dir, name: str, text: str, words: str) -> None:
    folder = policy_dir(MODULE)
    (folder / name).write_text(text)
    with pytest.raises(PolicyError, match=words):
        load_policy(folder)


_DECIDES = """
from pytest_soclab.base import resources
from pytest_soclab.policy.embedded import EmbeddedEngine
from pytest_soclab.policy.load import load_policy
print(EmbeddedEngine(load_policy(resources.policies()), tried=True).decide({}).outcome.value)
"""


def test_an_address_space_in_which_the_engine_does_not_start_is_named() -> None:
    command = ["bash", "-c", 'ulimit -v 4000000; exec "$0" -c "$1"', sys.executable, _DECIDES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "the embedded engine does not start with an address space of 3,906 MiB (ulimit -v); lift the limit" in last
    assert "--soclab-opa-binary" in last


def test_an_address_space_in_which_it_starts_is_enough() -> None:
    command = ["bash", "-c", 'ulimit -v 540000000; exec "$0" -c "$1"', sys.executable, _DECIDES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("deny\n", 0), done.stderr
