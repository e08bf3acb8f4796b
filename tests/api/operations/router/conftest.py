"""The API over a real fleet, with a worker that starts no replica."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import redis
from flask import Flask
from flask.testing import FlaskClient

import tasks.definitions
from api.services import AppServices
from api.wiring import make_services
from config.settings import ModelDefinition, RedisSettings, Settings
from tests.api.conftest import ADMIN_KEY, KEY, OTHER_KEY, tenants
from tests.conftest import ValkeyServer
from tests.support.simulated_platform import LONG_LEASE, SimulatedPlatform

MODELS = {
    "demo": ModelDefinition("demo", "stub"),
    "gguf": ModelDefinition(
        "gguf",
        "llama_cpp",
        model_path="/srv/models/gguf.gguf",
        target_inflight=2,
        options={"gguf_n_ctx": 1024, "gguf_type_k": "q8_0", "gguf_lora": {"a": "/srv/a.gguf"}},
    ),
    "pinned": ModelDefinition("pinned", "stub", pin=True),
}


@pytest.fixture
def settings(shared_server: ValkeyServer, tmp_path: Any) -> Settings:
    known = tenants()
    known["one"] = replace(known["one"], may_load=True, max_readers=2)
    address = RedisSettings(shared_server.url, f"t{secrets.token_hex(4)}")
    return Settings(
        data_dir=tmp_path,
        model_base_path=tmp_path,
        redis=address,
        lease=LONG_LEASE,
        models=MODELS,
        tenants=known,
    )


@pytest.fixture(autouse=True)
def _no_wake_up_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks.definitions, "notify_workers", lambda _: None)


@pytest.fixture
def platform(settings: Settings) -> Iterator[SimulatedPlatform]:
    client = redis.Redis.from_url(settings.redis.url)
    platform = SimulatedPlatform(client, settings)
    platform.register("w1")
    yield platform
    client.close()


@pytest.fixture
def made_services(settings: Settings, platform: SimulatedPlatform) -> AppServices:
    """Not those of fakes: the real ones."""
    assert platform is not None
    return make_services(settings)


def _client(app: Flask, key: str) -> FlaskClient:
    client = app.test_client()
    client.environ_base["HTTP_X_API_KEY"] = key
    return client


@pytest.fixture
def admin(app: Flask) -> FlaskClient:
    return _client(app, ADMIN_KEY)


@pytest.fixture
def http(app: Flask) -> FlaskClient:
    """A client of a tenant that may load models."""
    return _client(app, KEY)


@pytest.fixture
def other(app: Flask) -> FlaskClient:
    """A client of a tenant that may not."""
    return _client(app, OTHER_KEY)
