"""The lifecycle routes over Redis, on an open platform, with workers whose reports a test makes."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

import tasks.definitions
from api.wiring import make_services
from config.settings import GovernanceSettings, ModelDefinition, RedisSettings, Settings
from fleet.fleet import Fleet
from governance.audit import AuditLog
from tests.conftest import ValkeyServer
from tests.support.gateway import Gateway
from tests.support.simulated_platform import LONG_LEASE, SimulatedPlatform
from tests.support.wsgi_answers import create_app, start_services


class Runner:
    """An API process, and the fleet whose workers `w1` and `w2` the test plays."""

    def __init__(self, settings: Settings, client: redis.Redis) -> None:
        self.settings = settings
        self.services = make_services(settings)
        self.http: FlaskClient = create_app(settings, self.services).test_client()
        self.fleet = SimulatedPlatform(client, settings)

    def post(self, path: str, body: object, **headers: str) -> TestResponse:
        """Send a request; underscores of the headers' names stand for hyphens."""
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.post(f"/v1/models/{path}", json=body, headers=fields)

    def advance_time(self, seconds: float) -> None:
        """Move the clock of the workers and of the API process."""
        self.fleet.advance_time(seconds)
        self.services[Fleet].scripts.offset_us = self.fleet.fleet.scripts.offset_us

    def task(self, kind: str, id: str) -> dict[str, Any]:
        """Poll a task."""
        answer = self.http.get(f"/v1/models/{kind}/{id}")
        assert answer.status_code == 200, answer.json
        body: dict[str, Any] = answer.json
        return body

    def assigned(self, worker: str = "w1") -> list[str]:
        """The replicas of a worker, as its heartbeat reads them."""
        return list(self.fleet.ledger.heartbeat(worker, self.fleet.incarnations[worker]).replicas)

    def start_engines(self, memory_mib: int | None = None) -> None:
        """The workers start the engines of all replicas that are assigned to them."""
        for worker, incarnation in self.fleet.incarnations.items():
            for replica in self.assigned(worker):
                if self.fleet.starting(replica, worker) is not None:
                    self.fleet.fleet.replica_up(replica, worker, incarnation, 2, 4242, memory_mib=memory_mib)

    def stop_engines(self, freed_mib: int | None = None) -> None:
        """The workers stop all engines."""
        for worker, incarnation in self.fleet.incarnations.items():
            for replica in self.assigned(worker):
                self.fleet.fleet.replica_down(
                    replica, worker, incarnation, code="unloaded", message="unloaded", freed_mib=freed_mib
                )

    def audited(self) -> list[tuple[str, str, str, Any]]:
        """The audit's records: actor, action, outcome and reason."""
        self.services[AuditLog].sync()
        return [
            (one.actor, one.action, one.outcome, one.detail.get("reason"))
            for one in self.services[AuditLog].records()
        ]


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    return Gateway(tmp_path)


@pytest.fixture
def settings(shared_server: ValkeyServer, tmp_path: Path, gateway: Gateway) -> Settings:
    """An open platform with two models and a key for opTokens."""
    names = ("alpha", "org/beta-1B")
    return replace(
        Settings(),
        data_dir=tmp_path,
        redis=RedisSettings(shared_server.url, f"t{secrets.token_hex(4)}"),
        lease=LONG_LEASE,
        models={name: ModelDefinition(name, "stub", target_inflight=2, replica_max=2) for name in names},
        governance=GovernanceSettings(op_token_key_path=gateway.path),
    )


@pytest.fixture
def start(client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Settings], Runner]]:
    """Start an API process; without Celery's messages, whose loss the workers' heartbeats make up for."""
    monkeypatch.setattr(tasks.definitions, "notify_workers", lambda _: None)
    started: list[Runner] = []

    def run(settings: Settings) -> Runner:
        runner = Runner(settings, client)
        start_services(runner.services)
        started.append(runner)
        return runner

    yield run
    for runner in started:
        runner.services.stop()


@pytest.fixture
def runner(start: Callable[[Settings], Runner], settings: Settings) -> Runner:
    """One API process and two workers."""
    runner = start(settings)
    for worker in ("w1", "w2"):
        runner.fleet.register(worker)
    return runner
