"""Lets the scripts work in steps of a few jobs, so that a test needs few jobs for unfinished work."""

from __future__ import annotations

from pathlib import Path

import pytest

from store import function_library, script_text, scripts

LIMITS = {"MAX_JOBS": 100, "MAX_DISPATCHES": 100, "MAX_ENDED": 250}


def make_steps_small(patch: pytest.MonkeyPatch, jobs: int = 2) -> None:
    """Let each call of a script end, dispatch or count that many jobs; the reaper continues."""
    original = script_text.read

    def read(path: Path) -> str:
        text = original(path)
        for name, number in LIMITS.items():
            text = text.replace(f"local {name} = {number}\n", f"local {name} = {jobs}\n")
        return text

    patch.setattr(script_text, "read", read)
    patch.setattr(scripts, "source", script_text.source.__wrapped__)  # without its cache
    patch.setattr(scripts, "function_library", function_library.function_library.__wrapped__)
