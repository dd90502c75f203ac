"""The ladder as data: what each level needs."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, get_args

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from pytest_soclab.assurance.gates import WITNESSES
from pytest_soclab.base import resources
from pytest_soclab.base.errors import Fault, ScenarioError, UsageError
from pytest_soclab.evidence.results import Level, Tier
from pytest_soclab.reading.faults import faults_of
from pytest_soclab.reading.yaml_source import Document, read
from pytest_soclab.scenario.model import GateName

GATES = (*get_args(GateName), WITNESSES)
"""The gates that every profile has."""
_SHOWN = 12
Fraction = Annotated[float, Field(ge=0, le=1, strict=True)]


class Rung(BaseModel):
    """The conditions of one level; a missing one is no condition.

    `attack_success` and `false_block` are the highest upper bounds, `delivery` the least share of attacks delivered,
    `repetitions` the least trials of each variant unless the agent is deterministic.

    The others are about the work of a live agent: `findings_right` is the least lower bound, `harm_attempted` the
    highest upper bound, `work_done` and `own_resistance` are least shares, `accuse_innocents: false` forbids it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tiers: tuple[Tier, ...] = ()
    attack_success: Fraction | None = None
    false_block: Fraction | None = None
    delivery: Fraction | None = None
    repetitions: Annotated[int, Field(ge=1, strict=True)] = 1
    findings_right: Fraction | None = None
    accuse_innocents: Annotated[bool, Field(strict=True)] = True
    harm_attempted: Fraction | None = None
    work_done: Fraction | None = None
    own_resistance: Fraction | None = None


class Profile(BaseModel):
    """A versioned assurance profile."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: Annotated[int, Field(ge=1, strict=True)]
    gates: tuple[str, ...]
    levels: dict[Level, Rung]

    _digest: str = PrivateAttr("")

    @property
    def label(self) -> str:
        """What reports call it: name and version of a bundled profile, of any other the start of its digest.

        A name is the profile's own word for itself.
        """
        return f"sha256:{self._digest[:_SHOWN]}" if self._digest else f"{self.name}/{self.version}"


def profile_path(name: str) -> Path:
    """Return the file of a profile: a path, or the name of a bundled one."""
    is_path = "/" in name or name.endswith((".yaml", ".yml"))
    return Path(name) if is_path else resources.profiles() / f"{name}.yaml"


def load_profile(name: str = "default") -> tuple[Profile, str]:
    """Return a profile and its digest; `name` is a bundled profile's name or a path.

    Raises:
        UsageError: when there is none or it is wrong.
    """
    path = profile_path(name)
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in resources.profiles().glob("*.yaml")))
        raise UsageError(f"{path}: no assurance profile; give the path of one, or the name of a bundled one: {known}")
    try:
        document = read(path)
    except ScenarioError as error:  # what the one YAML reader raises
        raise UsageError(*error.faults) from None
    try:
        profile = Profile.model_validate(document.value)
    except ValidationError as error:
        raise UsageError(*faults_of(error, Profile, document)) from None
    faults = _gaps(profile, document)
    if faults:
        raise UsageError(*faults)
    digest = _digest(document.text)
    if digest not in {_digest(own.read_bytes().decode()) for own in resources.profiles().glob("*.yaml")}:
        profile._digest = digest
    return profile, digest


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _gaps(profile: Profile, document: Document) -> list[Fault]:
    """Return what every profile must have: the mandatory gates, and a rung for each level."""
    faults = []
    gates = [gate for gate in GATES if gate not in profile.gates]
    if gates:
        remedy = "name it; a gate is mandatory whatever the profile"
        faults.append(document.fault(("gates",), f"no {', '.join(gates)}", "every mandatory gate", remedy))
    missing = [level.value for level in Level if level not in profile.levels]
    if missing:
        faults.append(document.fault(("levels",), f"no rung for {', '.join(missing)}", "L1 to L5", "add it"))
    return faults
