"""Writing a result: the whole file or none of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_soclab.known_answer.basis.files import refuse


def write_json(result: dict[str, Any], out: str, inputs: Iterable[str]) -> None:
    """Write a result to `out`, whole or not at all.

    Raises KnownAnswerError where the file cannot be written or is one of the command's `inputs`.
    """
    text = json.dumps(result, indent=1, ensure_ascii=True) + "\n"
    target = Path(out)
    try:
        if any(Path(name).exists() and target.exists() and target.samefile(name) for name in inputs):
            refuse("an input named as the output", out, field="--json", remedy="name another file")
        if target.is_dir():
            refuse("a directory", out, field="--json", expected="a file", remedy="name a file in it")
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="ascii")  # a pipe or a device, which no rename may replace
        else:
            _replace(target, text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        refuse(f"cannot be written ({reason})", out, field="--json", remedy="check the path and the space left")


def _replace(target: Path, text: str) -> None:
    target = target.resolve()
    draft = target.with_name(f".{target.name[:200]}.{os.getpid()}.tmp")
    try:
        with draft.open("x", encoding="ascii") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(target)
    finally:
        with suppress(OSError):
            draft.unlink()
