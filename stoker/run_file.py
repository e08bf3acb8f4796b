"""The file `<data_dir>/run.json`, which describes the running platform to other processes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = "run.json"


def write_run(data_dir: Path, content: Mapping[str, Any]) -> None:
    """Write the description (`pid`, `url`, `flower`); replaces an earlier file atomically."""
    temporary = data_dir / f".{FILE}.{os.getpid()}"
    temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    temporary.replace(data_dir / FILE)


def read_run(data_dir: Path) -> dict[str, Any]:
    """Return the description; empty if there is no file or it cannot be read."""
    try:
        content = json.loads((data_dir / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def remove_run(data_dir: Path) -> None:
    """Remove the file, as the platform has ended."""
    (data_dir / FILE).unlink(missing_ok=True)
