"""The tool servers of the simulated SOC; each declares its `TABLES` and its `TOOLS`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType, ModuleType

from pytest_soclab.soc.registry import Registry
from pytest_soclab.soc.tables import Table


@cache
def servers() -> tuple[ModuleType, ...]:
    """Return the modules of the tool servers."""
    from pytest_soclab.soc.servers import (
        cases,
        catalog,
        cloud,
        endpoint,
        identity,
        intel,
        mail,
        malware,
        memory,
        network,
        siem,
    )

    return (siem, identity, endpoint, mail, network, cloud, cases, intel, malware, memory, catalog)


@cache
def registry() -> Registry:
    """Return the registry of every tool."""
    from pytest_soclab.soc.servers import catalog, shapes

    own = [tool for server in servers() for tool in server.TOOLS]
    tools = [replace(tool, returns=shapes.returns(tool.name, tables())) for tool in own]
    declared = {tool.name: tool.description for tool in tools}
    return Registry.of(catalog.knowing(declared, tool) for tool in tools)


@cache
def tables() -> Mapping[str, Table]:
    """Return every declared table by name."""
    return MappingProxyType({table.name: table for server in servers() for table in server.TABLES})
