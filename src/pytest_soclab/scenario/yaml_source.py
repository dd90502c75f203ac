"""Leads to the YAML reader at the name by which callers outside know it; `reading.yaml_source` is the reader."""

from __future__ import annotations

from pytest_soclab.reading.yaml_source import parse

__all__ = ["parse"]
