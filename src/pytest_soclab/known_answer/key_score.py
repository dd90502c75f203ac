"""Leads to the key score at the name by which callers outside know it; `known_answer.reading.key_score` reads it."""

from __future__ import annotations

from pytest_soclab.known_answer.reading.key_score import read_key_score

__all__ = ["read_key_score"]
