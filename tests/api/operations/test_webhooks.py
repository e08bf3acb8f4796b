"""/v1/admin/webhooks: the targets with their states, and test events."""

from __future__ import annotations

import secrets
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace

import pytest
from flask.testing import FlaskClient

from api.operations.webhooks.schema import WebhookTargetList, WebhookTest
from api.wiring import make_services
from config.settings import Settings, WebhookSettings, WebhookTarget
from tests.api.conftest import ADMIN_KEY, OTHER_KEY
from tests.support.webhook_receiver import ReceiverThread
from tests.support.wsgi_answers import create_app, start_services

ADMIN = {"Authorization": f"Bearer {ADMIN_KEY}"}
SECRET = f"whsec_{b64encode(secrets.token_bytes(32)).decode()}"


@pytest.fixture
def receiver() -> Iterator[ReceiverThread]:
    with ReceiverThread() as receiver:
        yield receiver


@pytest.fixture
def client(
    shared_settings: Settings, receiver: ReceiverThread, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FlaskClient]:
    """A platform with a target that receives, and one at a port without a server."""
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    targets = {
        "ops": WebhookTarget(None, receiver.url, "HOOK_SECRET", ("alert.firing",)),
        "down": WebhookTarget("default", "http://127.0.0.1:9/secret-path", "HOOK_SECRET"),
    }
    hooks = WebhookSettings(("127.0.0.1",), allow_private=True, targets=targets)
    settings = replace(shared_settings, webhooks=hooks)
    services = make_services(settings)
    start_services(services)
    yield create_app(settings, services).test_client()
    services.stop()


def test_the_targets_are_listed_with_the_results_of_their_attempts(
    client: FlaskClient, receiver: ReceiverThread
) -> None:
    body = client.get("/v1/admin/webhooks", headers=ADMIN).get_json()
    assert WebhookTargetList().validate(body) == {}
    assert [(one["name"], one["tenant"], one["waiting"]) for one in body["data"]] == [
        ("ops", None, 0),
        ("down", "default", 0),
    ]
    assert {one["delivered_at"] for one in body["data"]} == {None}
    sent = client.post("/v1/admin/webhooks/ops/test", headers=ADMIN).get_json()
    assert sent == {"object": "webhook.test", "target": "ops", "delivered": True, "problem": None}
    assert len(receiver.received) == 1
    failed = client.post("/v1/admin/webhooks/down/test", headers=ADMIN).get_json()
    assert WebhookTest().validate(failed) == {}
    assert not failed["delivered"]
    assert failed["problem"].startswith("ConnectionRefusedError")
    body = client.get("/v1/admin/webhooks", headers=ADMIN).get_json()
    ops, down = body["data"]
    assert (ops["delivered"], ops["failed"], ops["failing_since"], ops["problem"]) == (1, 0, None, None)
    assert ops["delivered_at"] is not None
    assert (down["delivered"], down["failed"], down["problem"]) == (0, 1, failed["problem"])
    assert down["failing_since"] == down["failed_at"]
    assert (down["host"], "secret" in str(body)) == ("127.0.0.1:9", False)
    page = client.get("/v1/governance/audit?action=send_test_event", headers=ADMIN).get_json()
    recorded = [(row["subject"], row["outcome"], row["detail"]["delivered"]) for row in page["data"]]
    assert recorded == [("ops", "done", True), ("down", "done", False)]
    metrics = client.get("/metrics", headers=ADMIN).text
    assert 'stoker_webhook_deliveries_total{outcome="failed",target="down"} 1.0' in metrics
    assert 'stoker_webhook_deliveries_total{outcome="given_up",target="down"} 0.0' in metrics
    assert 'stoker_webhook_failing{target="down"} 1.0' in metrics
    assert 'stoker_webhook_failing{target="ops"} 0.0' in metrics
    assert 'stoker_webhook_waiting_events{target="ops"} 0.0' in metrics


def test_a_test_event_of_an_unknown_target_is_refused(client: FlaskClient) -> None:
    answer = client.post("/v1/admin/webhooks/none/test", headers=ADMIN)
    assert (answer.status_code, answer.get_json()["error"]["param"]) == (404, "name")
    page = client.get("/v1/governance/audit?outcome=refused", headers=ADMIN).get_json()
    assert [(row["action"], row["subject"]) for row in page["data"]] == [("send_test_event", "none")]


def test_a_key_without_the_scope_sees_and_tests_no_target(client: FlaskClient) -> None:
    other = {"Authorization": f"Bearer {OTHER_KEY}"}
    assert client.get("/v1/admin/webhooks", headers=other).status_code == 403
    assert client.post("/v1/admin/webhooks/ops/test", headers=other).status_code == 403
