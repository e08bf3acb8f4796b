from __future__ import annotations

from collections.abc import Iterator

import pytest
from celery import Celery

from config.settings import Settings
from tasks import worker_interface as host
from tasks.app import app as default_app
from tasks.app import configuration, create_app


@pytest.fixture
def app(settings: Settings) -> Iterator[Celery]:
    """An app of the test's own, on the shared server."""
    made = create_app(settings)
    yield made
    made.close()
    default_app.set_default()


@pytest.fixture
def platform_app(settings: Settings) -> Iterator[Celery]:
    """The platform's app, which the real tasks are bound to, for the time of a test on the shared server."""
    before = {name: default_app.conf[name] for name in configuration(settings)}
    default_app._after_fork()
    default_app.conf.update(configuration(settings))
    yield default_app
    default_app._after_fork()
    default_app.conf.update(before)


class FakeHost:
    """Writes down what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def generate(self, id: str) -> str:
        self.asked.append(("generate", id))
        return "completed"

    def load(self, replica: str) -> str:
        self.asked.append(("load", replica))
        return "2 slots"

    def unload(self, replica: str) -> str:
        self.asked.append(("unload", replica))
        return "unloaded"


@pytest.fixture
def fake_host(monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    fake = FakeHost()
    monkeypatch.setattr(host._Place, "host", fake)
    return fake
