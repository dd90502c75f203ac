"""The argument types that tools share: length caps, and what in the world an argument names.

A name in the plural of trust: `Any…` marks a value that is legitimate whatever the incident's scope says, because the
tool only reads about it; the plain name must be in scope.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pytest_soclab.soc.registry import Target

Name = Annotated[str, Field(min_length=1, max_length=256)]
Line = Annotated[str, Field(min_length=1, max_length=500)]
Text = Annotated[str, Field(min_length=1, max_length=8000)]
Limit = Annotated[int, Field(ge=1, le=50)]
Moment = Annotated[
    str, Field(min_length=2, max_length=40, description="+offset from the incident's start, or RFC 3339")
]

Case = Annotated[Name, Target("case")]
Account = Annotated[Name, Target("account")]
AnyAccount = Annotated[Name, Target("account", scoped=False)]
Host = Annotated[Name, Target("host")]
AnyHost = Annotated[Name, Target("host", scoped=False)]
Ticket = Annotated[Name, Target("ticket")]
