"""Celery apps on the shared Redis server, and a worker that records its calls."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from celery import Celery

from config.settings import Settings
from tasks import worker_interface
from tasks.app import app as default_app
from tasks.app import configuration, create_app


@pytest.fixture
def app(settings: Settings) -> Iterator[Celery]:
    """A Celery app for one test, on the shared Redis server."""
    celery = create_app(lambda: settings)
    yield celery
    celery.close()
    default_app.set_default()


@pytest.fixture
def platform_app(settings: Settings) -> Iterator[Celery]:
    """The app that the tasks are bound to, configured for one test on the shared Redis server."""
    before = {name: default_app.conf[name] for name in configuration(settings)}
    default_app._after_fork()
    default_app.conf.update(configuration(settings))
    yield default_app
    default_app._after_fork()
    default_app.conf.update(before)


class FakeWorker:
    """Records its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def load(self, replica: str) -> str:
        self.calls.append(("load", replica))
        return "2 slots"

    def unload(self, replica: str) -> str:
        self.calls.append(("unload", replica))
        return "unloaded"


@pytest.fixture
def fake_worker(monkeypatch: pytest.MonkeyPatch) -> FakeWorker:
    fake = FakeWorker()
    monkeypatch.setattr(worker_interface._Process, "worker", fake)
    return fake
