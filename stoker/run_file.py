"""What a running platform tells others about itself: `<data_dir>/run.json`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = "run.json"


def write_run(data_dir: Path, content: Mapping[str, Any]) -> None:
    """Say how the platform is reached (`url`, ...); replaces what was said before."""
    draft = data_dir / f".{FILE}.{os.getpid()}"
    draft.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    draft.replace(data_dir / FILE)


def read_run(data_dir: Path) -> dict[str, Any]:
    """What was said last; empty when nothing was, or when it cannot be read."""
    try:
        content = json.loads((data_dir / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def forget_run(data_dir: Path) -> None:
    """The platform has ended."""
    (data_dir / FILE).unlink(missing_ok=True)
