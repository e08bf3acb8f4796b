"""/v1/admin/requests/{id}/texts on a real ledger: the permission, reading and deletion of texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest
from flask import Flask
from flask.testing import FlaskClient

from api.access.registry import AccessRegistry
from api.services import AppServices
from api.wiring import make_services
from config.settings import Settings
from governance.audit import AuditEvent, AuditLog
from scheduler.job import AppendRequest
from store.errors import StorageUnavailable
from streams.events import TextDelta
from tests.api.conftest import KEY
from tests.support.audit import audit_of
from tests.support.simulated_platform import SimulatedPlatform

PROMPT = orjson.dumps({"text": "user: <b>a secret prompt</b>", "is_cut": True})


def serve(platform: SimulatedPlatform, tenant: str = "one") -> str:
    """Run a request that keeps its texts to its end."""
    id = platform.admit(tenant, prompt_text=PROMPT, dialect="responses")
    claim = platform.run(id)
    events = (TextDelta("a secret answer").encode(),)
    platform.ledger.step(
        platform.incarnations["w1"], [AppendRequest(id, claim.replica, claim.fence, 1, events)], []
    )
    platform.release(claim)
    return id


def allow(admin: FlaskClient, tenant: str = "one", *, keeps: bool | None = True) -> None:
    answer = admin.patch(f"/v1/admin/tenants/{tenant}", json={"keep_texts": keeps})
    assert (answer.status_code, answer.get_json()["keep_texts"]) == (200, bool(keeps))


def texts(admin: FlaskClient, id: str) -> tuple[int, Any]:
    answer = admin.get(f"/v1/admin/requests/{id}/texts")
    return answer.status_code, answer.get_json()


def test_the_texts_are_read_after_the_audit_has_the_reader(
    admin: FlaskClient,
    platform: SimulatedPlatform,
    services: AppServices,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allow(admin)
    id = serve(platform)
    platform.expire()
    assert texts(admin, id) == (
        200,
        {
            "id": id,
            "object": "request.texts",
            "prompt": {"text": "user: <b>a secret prompt</b>", "isCut": True},
            "answer": {"text": "a secret answer", "isCut": False},
        },
    )
    *_, record = audit_of(settings).records()
    assert (record.actor, record.action, record.subject, record.outcome) == ("boss", "read_texts", id, "done")
    assert record.detail["tenant"] == "one"
    assert "secret" not in repr(record)
    for path in ("/v1/admin/requests", f"/v1/admin/requests/{id}", f"/v1/admin/requests/text%20{id}"):
        assert "secret" not in admin.get(path).text
    assert texts(admin, "resp_unknown")[0] == texts(admin, f"text%20{id}")[0] == 404

    def fail(_: AuditEvent) -> None:
        raise StorageUnavailable("Redis cannot be reached", retry_after_s=1)

    monkeypatch.setattr(services[AuditLog], "record", fail)
    answer = admin.get(f"/v1/admin/requests/{id}/texts")
    assert answer.status_code == 503
    assert "secret" not in answer.text


@pytest.mark.parametrize("keeps", [False, None])
def test_the_change_of_the_tenant_deletes_its_texts_before_it_is_answered(
    admin: FlaskClient, platform: SimulatedPlatform, keeps: bool | None
) -> None:
    allow(admin)
    id = serve(platform)
    platform.expire()
    under_way = serve(platform)
    allow(admin, keeps=keeps)
    assert texts(admin, id)[0] == 404
    platform.expire()
    assert texts(admin, under_way)[0] == 404
    assert admin.get(f"/v1/admin/requests/{under_way}").status_code == 200


def test_a_removed_tenant_loses_its_texts(admin: FlaskClient, platform: SimulatedPlatform) -> None:
    admin.post("/v1/admin/tenants", json={"name": "acme", "keep_texts": True})
    id = serve(platform, "acme")
    platform.expire()
    assert texts(admin, id)[0] == 200
    assert admin.delete("/v1/admin/tenants/acme").status_code == 200
    assert texts(admin, id)[0] == 404


def test_the_configuration_allows_texts_and_its_next_start_without_it_deletes_them(
    settings: Settings, platform: SimulatedPlatform, admin: FlaskClient
) -> None:
    tenant = replace(settings.tenants["one"], keep_texts=True, configured=frozenset({"keep_texts"}))
    allowing = make_services(replace(settings, tenants={**settings.tenants, "one": tenant}))
    allowing[AccessRegistry].read()
    id = serve(platform)
    platform.expire()
    assert texts(admin, id)[0] == 200
    make_services(settings)[AccessRegistry].read()
    assert texts(admin, id)[0] == 404


@pytest.mark.parametrize("age_s", [0, 4_000])
def test_the_client_deletes_the_texts_with_its_response_also_after_that_has_expired(
    app: Flask, admin: FlaskClient, platform: SimulatedPlatform, age_s: int
) -> None:
    allow(admin)
    id = serve(platform)
    platform.expire()
    platform.advance_time(age_s)
    for _ in range(2):  # the first run after a gap extends the leases
        platform.expire()
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {KEY}"
    answer = client.delete(f"/v1/responses/{id}")
    assert answer.get_json() == {"id": id, "object": "response", "deleted": True}
    assert texts(admin, id)[0] == 404
    assert client.delete(f"/v1/responses/{id}").status_code == 404
