"""Background responses of a tenant with targets are entered before their admission."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from api.services import AppServices
from api.webhooks.sender import WebhookSender
from api.webhooks.store import TooManyWebhooks
from scheduler.job import Job
from tests.support.api_fakes import Fakes

ASK = {"model": "demo", "input": "Hi"}


class Entered:
    """The sender of a tenant, as the admission uses it."""

    def __init__(self, fakes: Fakes, tenant: str) -> None:
        self.ids: list[str] = []
        self._fakes, self._tenant = fakes, tenant
        self.full = False

    def wants(self, tenant: str) -> bool:
        return tenant == self._tenant

    async def enter(self, job: Job) -> None:
        assert job.id not in self._fakes.ledger.jobs
        if self.full:
            raise TooManyWebhooks("full", retry_after_s=60)
        self.ids.append(job.id)


@pytest.mark.parametrize(
    ("tenant", "fields", "entered"),
    [("one", {"background": True}, True), ("one", {}, False), ("two", {"background": True}, False)],
)
def test_response_is_entered_when_its_end_is_wanted(
    http: FlaskClient,
    fakes: Fakes,
    services: AppServices,
    *,
    tenant: str,
    fields: dict[str, Any],
    entered: bool,
) -> None:
    sender = Entered(fakes, tenant)
    services[WebhookSender] = sender  # type: ignore[assignment]
    assert http.post("/v1/responses", json=ASK | fields).status_code == 200
    assert sender.ids == ([fakes.ledger.only().id] if entered else [])


def test_response_is_refused_when_too_many_events_wait(
    http: FlaskClient, fakes: Fakes, services: AppServices
) -> None:
    sender = Entered(fakes, "one")
    sender.full = True
    services[WebhookSender] = sender  # type: ignore[assignment]
    answer = http.post("/v1/responses", json=ASK | {"background": True})
    assert (answer.status_code, answer.json["error"]["code"]) == (429, "too_many_webhooks")
    assert answer.headers["Retry-After"] == "60"
    assert not fakes.ledger.jobs


def test_repeat_under_one_idempotency_key_is_not_entered(
    http: FlaskClient, fakes: Fakes, services: AppServices
) -> None:
    sender = Entered(fakes, "one")
    services[WebhookSender] = sender  # type: ignore[assignment]
    answers = [
        http.post("/v1/responses", json=ASK | {"background": True}, headers={"Idempotency-Key": "k"})
        for _ in range(2)
    ]
    assert sender.ids == [fakes.ledger.only().id] == [answers[1].json["id"]]
