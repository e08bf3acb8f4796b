"""/v1/admin/alerts: the rules with their alerts, and acknowledgements."""

from __future__ import annotations

from typing import Any

from flask import Response

from api.access.authority import authorization_of_caller
from api.access.caller import current_caller
from api.http.error_codes import STORAGE
from api.http.errors import Conflict, NotFound, UnprocessableRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.operations.alerts.rules import BY_NAME, Rule
from api.operations.alerts.schema import AcknowledgementBody, AlertList, AlertObject
from api.operations.alerts.serializer import serialize_alert, serialize_alerts
from api.operations.alerts.store import Alerts
from api.services import current_services, service
from governance.audit import AuditLog
from governance.authorization import Authorization

routes = RouteGroup("alerts", __name__)

_NAME = {"name": "The rule's name."}


@routes.endpoint("/v1/admin/alerts", access=Access.READ, responses={200: AlertList}, errors=STORAGE)
def list_alerts() -> Response:
    """List the alerts

    All rules of `deploy/alerts.yml`, each with its state, as the platform itself evaluates them each 15 s,
    also without Prometheus. A change to `firing` or `resolved` is an event of `/v1/admin/events`, and goes to
    the webhook targets of the events `alert.firing` and `alert.resolved`.
    """
    return json_response(serialize_alerts(service(Alerts).read()))


@routes.endpoint(
    "/v1/admin/alerts/<name>/acknowledge",
    "POST",
    access=Access.OPERATE,
    body=AcknowledgementBody,
    examples={
        "Until they are resolved": {"note": "the new driver is being installed"},
        "For four hours": {"note": "on it", "hours": 4},
    },
    invalid_body=UnprocessableRequest,
    responses={200: AlertObject},
    path=_NAME,
    errors=("not_found", "alert_not_firing", *STORAGE),
)
def acknowledge_alert(body: dict[str, Any], name: str) -> Response:
    """Acknowledge an alert

    Of the rule's alerts those that fire now count as acknowledged, until they are resolved or for `hours`.
    One that begins to fire later, of another model, is not. The audit chain records it with the note.
    """
    rule, services = _rule(name), current_services()
    shown = services[Alerts].read()
    if shown.evaluated_at is None or all(one.state != "firing" for one in shown.of_rule(rule)):
        raise Conflict(f"no alert of {name} fires", code="alert_not_firing", param="name")
    hours, note = body.get("hours") or 0, body.get("note") or ""
    services[Alerts].acknowledge(rule, shown.evaluated_at, hours, note, _by_key())
    services[AuditLog].sync()
    return _answer(rule)


@routes.endpoint(
    "/v1/admin/alerts/<name>/acknowledge",
    "DELETE",
    access=Access.OPERATE,
    responses={200: AlertObject},
    path=_NAME,
    errors=("not_found", *STORAGE),
)
def end_acknowledgement(name: str) -> Response:
    """Take back an acknowledgement

    The rule's alerts that fire count as unacknowledged again. Without an acknowledgement nothing changes.
    """
    rule, services = _rule(name), current_services()
    services[Alerts].end_acknowledgement(rule, _by_key())
    services[AuditLog].sync()
    return _answer(rule)


def _rule(name: str) -> Rule:
    if name not in BY_NAME:
        raise NotFound("no alert rule has this name", param="name")
    return BY_NAME[name]


def _answer(rule: Rule) -> Response:
    return json_response(serialize_alert(rule, service(Alerts).read()))


def _by_key() -> Authorization:
    return authorization_of_caller(current_caller())
