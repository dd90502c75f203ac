"""Runs a policy's own Rego tests against a changed policy: `opa test` over its modules, its tests and its data."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from pytest_soclab.base.errors import Fault, UsageError
from pytest_soclab.policy import checked
from pytest_soclab.policy.model import PolicySource
from pytest_soclab.policy.mutation import Mutant

_TESTS = "*_test.rego"


class OwnTests:
    """The Rego tests that lie in a policy's folder, and the OPA that runs them."""

    def __init__(self, opa: str, source: PolicySource) -> None:
        """Take the tests over.

        Raises:
            UsageError: when there are none, or they do not pass on the policy as it is.
        """
        self._opa = opa
        root = Path(source.path)
        self._tests = {path.relative_to(root).as_posix(): path for path in sorted(root.rglob(_TESTS))}
        if not self._tests:
            raise UsageError(Fault(f"found no {_TESTS}", source.path, remedy="leave --own-tests out"))
        if self.notice(Mutant("", "", source.modules, source.data)):
            raise UsageError(Fault("its own tests do not pass", source.path, remedy=f"see: opa test {source.path}"))

    def notice(self, mutant: Mutant) -> bool:
        """Tell whether a test fails, or the changed policy is none to OPA."""
        with tempfile.TemporaryDirectory(prefix="soclab-") as folder:
            root = Path(folder).resolve() / "policy"
            checked.write(mutant.modules, mutant.data, root)
            for name, path in self._tests.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, root / name)
            done = checked.run(self._opa, "test", str(root))
            return done is None or done.returncode != 0
