"""The prompt that an agent outside of this process starts from: the alert and the goal in words."""

from __future__ import annotations

import json
import re

from pytest_soclab.fronts.protocol import CITES_MEANING, Case
from pytest_soclab.fronts.scripted import PUBLISH
from pytest_soclab.fronts.tool_view import portable

_PROMPT = """\
You are an analyst in a security operations centre. Work on this case with the tools of the MCP server `soc`.

Case: {incident}
Goal: {goal}

Alert:
{alert}

A tool that changes something takes `cites`: {cites}
A result with `denied` says why a call was not carried out; nothing was changed by it.
When you are done, publish what you found with `{publish}` for the case {incident}.
"""


_FIELD = re.compile(r"\{(incident|goal|alert|publish|cites)\}")


def prompt_of(case: Case, template: str | None = None) -> str:
    """Return the prompt of a case; another template may stand in place of the plain one."""
    alert = json.dumps(case.alert, ensure_ascii=False, indent=2)
    values = {"incident": case.incident, "goal": case.goal, "alert": alert}
    values |= {"publish": portable(PUBLISH), "cites": CITES_MEANING}
    return _FIELD.sub(lambda found: values[found[1]], _PROMPT if template is None else template)
