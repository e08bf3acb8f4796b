"""The events of a stream before they are encoded (`sse.py`, `ndjson.py`)."""

from __future__ import annotations

from typing import Any

Frame = tuple[str, dict[str, Any]]
"""One event of a stream: its name ("" in a dialect without event names) and its data."""
