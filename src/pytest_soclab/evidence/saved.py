"""The base of every shape that is saved."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Saved(BaseModel):
    """A frozen shape that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")
