"""The API on a real ledger with two models of one slot each, for its jobs and the history of requests."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis
from flask import Flask
from flask.testing import FlaskClient

from api.services import AppServices
from api.wiring import make_services
from config.settings import ModelDefinition, Settings
from tests.api.conftest import ADMIN_KEY
from tests.support.simulated_platform import LONG_LEASE, SimulatedPlatform


@pytest.fixture
def settings(shared_settings: Settings) -> Settings:
    return replace(
        shared_settings,
        lease=LONG_LEASE,
        models={name: ModelDefinition(name, "stub") for name in ("org/beta", "alpha")},
    )


@pytest.fixture
def made_services(settings: Settings) -> AppServices:
    return make_services(settings)


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
