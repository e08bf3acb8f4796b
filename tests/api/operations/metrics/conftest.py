"""Settings on the shared server, as outside of tests/api."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from config.settings import ModelDefinition, RedisSettings, Settings
from tests.conftest import ValkeyServer


@pytest.fixture
def settings(shared_server: ValkeyServer, tmp_path: Path) -> Settings:
    """Default settings with two stub models, on the shared server under a prefix of the test's own."""
    names = ("alpha", "beta")
    models = {name: ModelDefinition(name, "stub", target_inflight=2, replica_max=4) for name in names}
    redis = RedisSettings(shared_server.url, f"t{secrets.token_hex(4)}")
    return Settings(data_dir=tmp_path, redis=redis, models=models)
