"""Fixtures for tests with a scripted server."""

from __future__ import annotations

import pytest

from backends.openai_remote import remote_engine
from tests.backends.openai_remote.scripted_server import KEY, KEY_VARIABLE


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses before each retry, in seconds; they are recorded and skipped."""
    waited: list[float] = []

    async def record(seconds: float, _error: object) -> None:
        waited.append(seconds)

    monkeypatch.setattr(remote_engine, "_pause", record)
    return waited


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an environment variable that holds a key."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    return KEY_VARIABLE
