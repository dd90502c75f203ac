"""Evidence kinds, and the tools that the built-in servers declare with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_soclab.soc.withholding import LOOKUP_KINDS

BUILTIN_TOOLS: Mapping[str, Mapping[str, str]] = {
    "analysis": {
        "pe_info": "static_analysis",
        "floss": "static_analysis",
        "strings": "static_analysis",
        "yara_scan": "rule_match",
        "capa": "rule_match",
        "decompile": "decompilation",
        "disassemble": "decompilation",
    },
    "network": {"pcap_summary": "packet_analysis"},
    "sandbox": {"detonate": "sandbox_run"},
    "threatintel": {"indicator": "indicator_report"},
    "virustotal": {
        "get_file_report": "reputation_lookup",
        "get_url_report": "reputation_lookup",
        "get_domain_report": "indicator_report",
        "get_ip_report": "indicator_report",
        "submit_file": "service_submission",
        "get_behaviour": "sandbox_run",
    },
}
"""Kind by server and tool, for the servers that every deployment has."""


def is_lookup(kind: str | None) -> bool:
    """Tell whether a kind, in whatever case it is written, asks a service outside the deployment what it knows."""
    return (kind or "").strip().casefold() in LOOKUP_KINDS


def default_settings() -> dict[str, Any]:
    """Return the settings of a deployment that stores none: one profile, the built-in servers, no provider."""
    return {
        "agents": {"active_profile": "default", "profiles": {"default": {"label": "Default", "stages": []}}},
        "mcp": {"servers": {name: {"enabled": True, "tools": declared(name)} for name in BUILTIN_TOOLS}},
        "providers": {},
    }


def declared(server: str) -> dict[str, dict[str, str]]:
    """Return the tools that a built-in server declares, in the form of the settings; empty for any other."""
    return {tool: {"kind": kind} for tool, kind in BUILTIN_TOOLS.get(server, {}).items()}
