"""The API on a real ledger with two models of one slot each, for its jobs and the history of requests."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import redis
from flask import Flask
from flask.testing import FlaskClient

from api.services import AppServices
from api.wiring import make_services
from config.settings import ModelDefinition, RedisSettings, Settings
from tests.api.conftest import ADMIN_KEY, tenants
from tests.conftest import ValkeyServer
from tests.support.simulated_platform import LONG_LEASE, SimulatedPlatform
from tests.support.wsgi_answers import create_app, start_services


@pytest.fixture
def settings(shared_server: ValkeyServer, tmp_path: Path) -> Settings:
    return replace(
        Settings(),
        data_dir=tmp_path,
        redis=RedisSettings(shared_server.url, f"t{secrets.token_hex(4)}"),
        lease=LONG_LEASE,
        models={name: ModelDefinition(name, "stub") for name in ("org/beta", "alpha")},
        tenants=tenants(),
    )


@pytest.fixture
def services(settings: Settings) -> Iterator[AppServices]:
    services = make_services(settings)
    start_services(services)
    yield services
    services.stop()


@pytest.fixture
def app(settings: Settings, services: AppServices) -> Flask:
    return create_app(settings, services)


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """Models alpha and org/beta with one slot each."""
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load(slots=1)
    platform.load("org/beta", slots=1)
    return platform


@pytest.fixture
def admin(app: Flask) -> FlaskClient:
    client = app.test_client()
    client.environ_base["HTTP_X_API_KEY"] = ADMIN_KEY
    return client
