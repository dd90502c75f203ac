"""Says by whom it was checked that a policy is decided as OPA decides it, and asks OPA where one is at hand.

The bundled policy is compared with OPA by the project's own tests, so its digest vouches for it. For any other policy
OPA's compiler decides first what is a policy at all; without an OPA the vetting stands alone, and results say so.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_soclab.base.errors import Fault, PolicyError
from pytest_soclab.policy.model import ENTRYPOINT, PolicySource

BUNDLED_DIGEST = "bundled digest"
UNCHECKED = "not checked by OPA"
PROVED_DIGESTS = frozenset({"22aa5f57e0a0cf2c6cb3b931808bcb2438adce93f6fcb9d7b9b3ddea11cef66c"})
"""Digests of the bundled policy as the tests compared it with OPA: a changed policy is another one."""
_CHECK = ("check", "--strict", "--format", "json")
_BUILD = ("build", f"--entrypoint={ENTRYPOINT}", "--target=plan")
"""Plans the answer to the one question that is asked, which `check` does not."""
_LIMIT = 30.0  # seconds for one run of OPA
_REMEDY = "correct it: OPA refuses it"


def check(source: PolicySource) -> str:
    """Return who vouches for a policy: the digest of the bundled one, an OPA 1.x on the PATH, or nobody.

    Raises:
        PolicyError: with OPA's words, when an OPA is there and refuses the policy.
    """
    if source.digest in PROVED_DIGESTS:
        return BUNDLED_DIGEST
    opa = shutil.which("opa")
    version = _version(opa) if opa else ""
    if opa is None or not version.startswith("1."):
        return UNCHECKED
    faults = _refusal(opa, source)
    if faults:
        raise PolicyError(*faults)
    return f"opa {version}"


def _version(opa: str) -> str:
    done = run(opa, "version")
    found = re.search(r"^Version: (\S+)", done.stdout, re.MULTILINE) if done is not None else None
    return found[1] if found else ""


def run(opa: str, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    """Return what a run of OPA said, None where it did not end well enough to say anything."""
    command = [opa, *arguments]
    try:
        return subprocess.run(  # noqa: S603  # the user's own OPA
            command, capture_output=True, text=True, timeout=_LIMIT, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None


def _refusal(opa: str, source: PolicySource) -> list[Fault]:
    """Return what `opa check --strict` has against a policy, else what `opa build` has; no answer is something too."""
    with tempfile.TemporaryDirectory(prefix="soclab-") as folder:
        root = Path(folder).resolve() / "policy"
        write(source.modules, source.data, root)
        steps = {"check --strict": _CHECK, "build": (*_BUILD, "--output", str(Path(folder) / "bundle.tar.gz"))}
        for asked, words in steps.items():
            done = run(opa, *words, str(root))
            if done is None or done.returncode != 0:
                return list(_faults(done, source, root, asked))
        return []


def write(modules: Mapping[str, str], data: Mapping[str, Any], root: Path) -> None:
    """Write a policy as OPA reads it from a folder."""
    for name, text in modules.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    (root / "data.json").write_text(json.dumps(data), encoding="utf-8")


def _faults(
    done: subprocess.CompletedProcess[str] | None, source: PolicySource, root: Path, asked: str
) -> Iterator[Fault]:
    errors: list[dict[str, Any]] = []
    if done is not None:
        try:
            errors = json.loads(done.stderr or done.stdout)["errors"]
        except (ValueError, KeyError, TypeError):
            said = " ".join((done.stderr or done.stdout).split())
            errors = [{"message": said.replace(f"{root}/", "")[:300]}] if said else []
    for error in errors or [{"message": "it gives no answer"}]:
        place = error.get("location") or {}
        file = str(place.get("file", "")).removeprefix(f"{root}/")
        path = str(Path(source.path) / file) if file else source.path
        yield Fault(f"opa {asked}: {error.get('message')}", path, int(place.get("row", 0)), remedy=_REMEDY)
