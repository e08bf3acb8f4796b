"""Lets the scripts work in steps of a few jobs, so that a test needs few jobs for unfinished work."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler import scripts

LIMITS = ("local MAX_JOBS = 100\n", "local MAX_DISPATCHES = 100\n")


def make_steps_small(patch: pytest.MonkeyPatch, jobs: int = 2) -> None:
    """Let each call of a script end or dispatch that many jobs; the reaper continues."""
    original = scripts.source

    def source(path: Path) -> str:
        text = original(path)
        for limit in LIMITS:
            text = text.replace(limit, limit.replace("100", str(jobs)))
        return text

    patch.setattr(scripts, "source", source)
