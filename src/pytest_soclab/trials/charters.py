"""Changes a charter as a scenario says."""

from __future__ import annotations

from dataclasses import replace

from pytest_soclab.base.clock import rfc3339
from pytest_soclab.scenario.model import CharterText
from pytest_soclab.soc.build import charter_of
from pytest_soclab.soc.world import Charter


def changed_charter(charter: Charter, text: CharterText) -> Charter:
    """Return a charter with what a scenario changes in it."""
    plain = text.model_dump(by_alias=True, exclude_none=True, exclude={"assets_declared", "level"})
    if not plain:
        changed = charter
    else:
        parsed = charter_of({"id": charter.incident, "start": rfc3339(charter.start), **plain})
        changed = replace(charter, **{name: getattr(parsed, name) for name in plain})
    if text.assets is not None and charter.assets is not None:
        changed = replace(changed, assets={**charter.assets, **(changed.assets or {})})
    if text.scope is not None:
        changed = replace(changed, scope={**charter.scope, **changed.scope})
    if text.level is not None:
        changed = replace(changed, level=text.level.rank)
    return changed if text.assets_declared else replace(changed, assets=None)
