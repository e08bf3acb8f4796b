"""A batch for the tests of its parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.settings import Settings
from tests.support.batch_bench import Bench


@pytest.fixture(autouse=True)
def _turns_are_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenant's batches take all their steps in a turn, however slow the machine and its disk are."""
    monkeypatch.setattr("api.batches.allowance.TURN_S", 3600.0)


@pytest.fixture
def bench(tmp_path: Path, shared_settings: Settings) -> Bench:
    return Bench(tmp_path, shared_settings)
