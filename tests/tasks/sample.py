"""Stored samples of what travels. `RENEW_SAMPLES=1 pytest tests/tasks` writes them anew, for review."""

from __future__ import annotations

import os
from pathlib import Path

SAMPLES = Path(__file__).parent / "samples"


def assert_is_the_sample(name: str, form: bytes) -> None:
    """If it was meant to change: processes of both versions run side by side while a platform is renewed."""
    if os.environ.get("RENEW_SAMPLES"):
        (SAMPLES / name).write_bytes(form)
    assert form == (SAMPLES / name).read_bytes()
