"""Stored samples of messages between processes. `RENEW_SAMPLES=1 pytest tests/tasks` writes them again."""

from __future__ import annotations

import os
from pathlib import Path

SAMPLES = Path(__file__).parent / "samples"


def assert_is_stored_sample(name: str, form: bytes) -> None:
    """Compare with the stored sample.

    A difference is visible in review: processes of both versions run side by side during an upgrade.
    """
    if os.environ.get("RENEW_SAMPLES"):
        (SAMPLES / name).write_bytes(form)
    assert form == (SAMPLES / name).read_bytes()
