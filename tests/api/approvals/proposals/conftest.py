"""An API process over a real Redis, whose fleet has one worker without a process, and three signers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import redis
from flask.testing import FlaskClient

import tasks.definitions
from api.access.registry import AccessRegistry
from api.services import EXTENSION, AppServices
from config.settings import (
    GovernanceRule,
    GovernanceSettings,
    ModelDefinition,
    Settings,
    Tenant,
    default_rules,
)
from governance.audit import AuditLog
from tests.api.conftest import ADMIN_KEY, tenants
from tests.support.signers import KeyHolder, configured
from tests.support.simulated_platform import LONG_LEASE, SimulatedPlatform
from tests.support.wsgi_answers import create_app

PROPOSALS = "/v1/governance/proposals"
ALICE, BOB, CAROL = KeyHolder("alice"), KeyHolder("bob"), KeyHolder("carol")
SIGNED = GovernanceRule("signed", 2, ("alice", "bob", "carol"))
GOVERNANCE = GovernanceSettings(
    rules=dict.fromkeys(default_rules(), SIGNED),
    signers=configured(ALICE, BOB, CAROL),
)

Json = dict[str, Any]


@pytest.fixture
def settings(shared_settings: Settings) -> Settings:
    return replace(
        shared_settings,
        lease=LONG_LEASE,
        models={name: ModelDefinition(name, "stub", target_inflight=2) for name in ("alpha", "beta")},
        tenants={**tenants(), "fixed": Tenant("fixed", weight=2.0, configured=frozenset({"weight"}))},
        governance=GOVERNANCE,
    )


@pytest.fixture(autouse=True)
def _workers_are_not_notified(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are no processes that could receive a message of Celery."""
    monkeypatch.setattr(tasks.definitions, "notify_workers", lambda _: None)


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """The worker w1, without a process."""
    platform = SimulatedPlatform(client, settings)
    platform.register()
    return platform


class Api:
    """An API process that was not started: it does what its requests ask for, and nothing by itself."""

    def __init__(self, settings: Settings) -> None:
        self.http: FlaskClient = create_app(settings).test_client()
        self.http.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {ADMIN_KEY}"
        self.services: AppServices = self.http.application.extensions[EXTENSION]
        self.services[AccessRegistry].read()

    def propose(self, operation: str = "model-load", **body: Any) -> Json:
        """Make a proposal; of a load of alpha unless a body is given."""
        answer = self.http.post(
            PROPOSALS, json={"operation": operation, "body": body or {"modelId": "alpha"}}
        )
        assert answer.status_code == 202, answer.json
        made: Json = answer.json
        return made

    def sign(self, proposal: Json, *holders: KeyHolder) -> Json:
        """Sign a proposal; returns it as it is after the last signature."""
        signed = proposal
        for holder in holders:
            answer = self.http.post(f"{PROPOSALS}/{proposal['id']}/signatures", json=holder.body(proposal))
            assert answer.status_code == 200, answer.json
            signed = answer.json
        return signed

    def get(self, proposal: Json) -> Json:
        found: Json = self.http.get(f"{PROPOSALS}/{proposal['id']}").json
        return found

    def error(self, method: str, path: str, body: Any = None) -> tuple[int, str, str | None, str]:
        """Status, code, param and message of a refusal."""
        answer = self.http.open(path, method=method, json=body)
        assert answer.status_code >= 400, answer.json
        error = answer.json["error"]
        return answer.status_code, error["code"], error["param"], error["message"]

    def actions(self) -> list[tuple[str, str, str, str]]:
        """Actor, authority, action and outcome of the records of the audit chain, which must be whole."""
        self.services[AuditLog].sync()
        assert self.services[AuditLog].finding() is None
        return [
            (record.actor, record.authority, record.action, record.outcome)
            for record in self.services[AuditLog].records()
        ]


@pytest.fixture
def start_api(settings: Settings) -> Callable[..., Api]:
    """Make an API process; the arguments replace settings of the section `governance`."""

    def make(**governance: Any) -> Api:
        return Api(replace(settings, governance=replace(settings.governance, **governance)))

    return make


@pytest.fixture
def api(start_api: Callable[..., Api], platform: SimulatedPlatform) -> Api:
    assert platform.incarnations
    return start_api()
