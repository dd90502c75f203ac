"""The intel-off arm: a profile that does without every server that looks things up. It is derived, never run."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pytest_soclab.base.errors import nearest, printable, quote
from pytest_soclab.known_answer.basis.files import refuse
from pytest_soclab.known_answer.intel_off.settings import Settings, build, read_settings

SUFFIX = "_intel_off"
REMINDER = (
    "Running this arm is a paid run: it needs the usual approval. Score its run blind, then gate it against the base"
    " profile."
)


@dataclass(frozen=True, slots=True)
class Withheld:
    """What goes with a withheld server: the tools that look things up, and its others."""

    lookups: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IntelOff:
    """A derived arm: the whole profile, the withheld servers, the provider lookups that stay, the job that runs it."""

    base: str
    name: str
    profile: Mapping[str, Any]
    withheld: Mapping[str, Withheld]
    not_withheld: tuple[tuple[str, str], ...]  # provider and tool

    @property
    def job(self) -> dict[str, Any]:
        """The job config that selects the arm."""
        return {"agents.active_profile": self.name}

    def to_json(self) -> dict[str, Any]:
        """Return the arm in its stable form, `known-answer-intel-off/1`."""
        return {
            "format": "known-answer-intel-off/1",
            "base": self.base,
            "name": self.name,
            "profile": dict(self.profile),
            "withheld": {
                server: {"lookups": list(tools.lookups), "others": list(tools.others)}
                for server, tools in self.withheld.items()
            },
            "not_withheld": [{"provider": provider, "tool": tool} for provider, tool in self.not_withheld],
            "job": self.job,
        }


def derive(profile: str | None, path: str | None) -> IntelOff:
    """Return the intel-off arm of a profile (None: the active one) under the settings at `path` (None: defaults).

    Raises KnownAnswerError where there is no such profile, nothing to withhold, a name already taken with other
    content, or settings that do not build, with the arm or without it.
    """
    tree = read_settings(path)
    settings = build(tree, path)
    place = path or "built-in settings"
    base = profile if profile is not None else settings.agents.active_profile
    if base is None:
        refuse("no active profile", place, field="agents.active_profile", remedy="name the base with --profile")
    if base not in settings.agents.profiles:
        found = f"no profile {quote(base)}"
        refuse(found, place, field="agents.profiles", remedy=nearest(base, settings.agents.profiles))
    arm = _derive(base, settings, tree["agents"]["profiles"][base], place)
    _check(arm, tree, path)
    return arm


def _derive(base: str, settings: Settings, stored: dict[str, Any], place: str) -> IntelOff:
    withheld = {name: tools for name in sorted(settings.mcp.servers) if (tools := _withheld(settings, name)).lookups}
    excluded = settings.agents.profiles[base].exclude_servers
    if not withheld:
        refuse("nothing to withhold: no server has a lookup tool", place, field="mcp.servers", remedy="check the kinds")
    added = [name for name in withheld if name not in excluded]
    if not added:
        refuse(
            f"nothing to withhold: the profile {quote(base)} excludes {', '.join(withheld)} already",
            place,
            field=f"agents.profiles.{base}",
            remedy="the base profile is the intel-off arm",
        )
    profile = deepcopy(stored) | {"exclude_servers": [*excluded, *added]}
    lookups = tuple(
        (name, tool)
        for name, provider in sorted(settings.providers.items())
        for tool, declaration in provider.tools.items()
        if declaration.is_lookup
    )
    return IntelOff(base, base + SUFFIX, profile, withheld, lookups)


def _withheld(settings: Settings, name: str) -> Withheld:
    tools = settings.mcp.servers[name].tools
    return Withheld(
        tuple(tool for tool, declaration in tools.items() if declaration.is_lookup),
        tuple(tool for tool, declaration in tools.items() if not declaration.is_lookup),
    )


def _check(arm: IntelOff, tree: dict[str, Any], path: str | None) -> None:
    """Build the settings with the arm in them and selected."""
    profiles = tree["agents"]["profiles"]
    if arm.name in profiles and profiles[arm.name] != arm.profile:
        refuse(
            f"the name {quote(arm.name)} already taken with other content",
            path or "built-in settings",
            field="agents.profiles",
            remedy="remove or rename that profile",
        )
    with_arm = deepcopy(tree)
    with_arm["agents"]["profiles"][arm.name] = dict(arm.profile)
    with_arm["agents"]["active_profile"] = arm.name
    build(with_arm, path)


def intel_off_text(arm: IntelOff) -> str:
    """Return the text of an arm: what is withheld, what cannot be, the profile, the job, the reminder."""
    import json

    lines = [f"{printable(arm.name)}: profile {printable(arm.base)} without its lookup servers", "", "withheld:"]
    for server, tools in arm.withheld.items():
        others = f"; goes with it: {_names(tools.others)}" if tools.others else ""
        lines.append(f"  {printable(server)}: looks up with {_names(tools.lookups)}{others}")
    for provider, tool in arm.not_withheld:
        lines.append(f"not withheld: {printable(tool)} of provider {printable(provider)}, no profile can withhold it")
    lines += ["", f"profile to add as agents.profiles.{printable(arm.name)}:"]
    lines += json.dumps(dict(arm.profile), indent=2).split("\n")
    lines += ["", "job config that selects it:", json.dumps(arm.job), "", REMINDER]
    return "\n".join(lines) + "\n"


def _names(tools: tuple[str, ...]) -> str:
    return ", ".join(map(printable, tools))
