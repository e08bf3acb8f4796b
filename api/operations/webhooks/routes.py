"""/v1/admin/webhooks: the webhook targets, and test events."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

from flask import Response

from api.access.authority import authority_of
from api.access.caller import current_caller
from api.http.error_codes import STORAGE
from api.http.errors import NotFound
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.operations.webhooks.schema import WebhookTargetList, WebhookTest
from api.services import current_services, service
from api.webhooks.sender import WebhookSender
from api.webhooks.target_states import OUTCOMES, TargetState, TargetStates
from config.settings import Settings, WebhookTarget
from governance.audit import AuditLog

routes = RouteGroup("webhooks", __name__)


@routes.endpoint("/v1/admin/webhooks", access=Access.READ, responses={200: WebhookTargetList}, errors=STORAGE)
def list_webhooks() -> Response:
    """List the webhook targets

    Each configured target with the events that wait for it, its latest success, and its latest failure with
    the reason. The states are kept for 30 days after the latest attempt.
    """
    targets, states = service(Settings).webhooks.targets, service(TargetStates).read()
    data = [_serialize(name, target, states[name]) for name, target in targets.items()]
    return json_response({"object": "list", "data": data})


@routes.endpoint(
    "/v1/admin/webhooks/<name>/test",
    "POST",
    access=Access.OPERATE,
    responses={200: WebhookTest},
    path={"name": "The target's name in `webhooks.targets`."},
    errors=("not_found", *STORAGE),
)
def test_webhook(name: str) -> Response:
    """Send a test event

    One signed event of the type `webhook.test` is sent to the target once, within 10 s; it is not sent again.
    The answer has its result, `GET /v1/admin/webhooks` counts it, and the audit chain records it.
    """
    services = current_services()
    sender = services[WebhookSender]
    target = sender.target(name)
    if target is None:
        raise NotFound("no webhook target has this name", param="name")
    problem = asyncio.run_coroutine_threadsafe(sender.send_test(target), services.loop).result()
    detail = {"delivered": problem is None}
    services[AuditLog].record(authority_of(current_caller()).event("send_test_event", name, "done", detail))
    body = {"object": "webhook.test", "target": name, "delivered": problem is None, "problem": problem}
    return json_response(body)


def _serialize(name: str, target: WebhookTarget, state: TargetState) -> dict[str, Any]:
    return {
        "name": name,
        "host": urlsplit(target.url).netloc,
        "tenant": target.tenant,
        "events": list(target.events),
        "waiting": state.waiting,
        "failing_since": state.failing_since,
        "delivered_at": state.delivered_at,
        "failed_at": state.failed_at,
        "problem": state.problem,
        **{outcome: state.counts.get(outcome, 0) for outcome in OUTCOMES},
    }
