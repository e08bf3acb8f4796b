"""API processes that share tenants and keys in a real Redis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from api.services import EXTENSION, AppServices
from config.settings import Settings
from tests.api.conftest import ADMIN_KEY, make_services
from tests.support.api_fakes import make_fakes
from tests.support.wsgi_answers import create_app, start_services

Process = FlaskClient


@pytest.fixture
def start(shared_settings: Settings) -> Iterator[Callable[..., Process]]:
    """Start an API process; its client sends the administrator's key."""
    started = []

    def run(settings: Settings | None = None) -> Process:
        settings = settings or shared_settings
        services = make_services(settings, make_fakes(settings), with_redis=True)
        start_services(services)
        started.append(services)
        client = create_app(settings, services).test_client()
        client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {ADMIN_KEY}"
        return client

    yield run
    for services in started:
        services.stop()


@pytest.fixture
def process(start: Callable[..., Process]) -> Process:
    """One API process."""
    return start()


def services_of(process: Process) -> AppServices:
    """The services of an API process."""
    services: AppServices = process.application.extensions[EXTENSION]
    return services


def error_of(answer: Any) -> tuple[int, str, str | None]:
    """Status, code and param of a refusal."""
    error = answer.json["error"]
    return answer.status_code, error["code"], error["param"]
