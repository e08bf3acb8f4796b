"""GET /health, /ready and /live: they need no key, and name no model and no tenant."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from flask import Response

from api.http.answers import send_json
from api.http.detached import DetachedResponse
from api.http.http_responses import json_response
from api.http.llama_server_errors import LOADING, llama_server_envelope
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.http.server.client_connection import ClientConnection
from api.http.shutdown_flag import ShutdownFlag
from api.inference.resumable.schema import LlamaServerError
from api.operations.health import Health, HealthReader
from api.operations.health_schema import HealthBody, LiveBody, OkBody, ReadyBody
from api.services import AppServices, current_services

routes = RouteGroup("health", __name__)

Json = dict[str, Any]


@routes.endpoint(
    "/health", access=Access.PUBLIC, responses={200: HealthBody, 503: HealthBody}, blocking=False
)
def check_health() -> Response:
    """Check the platform's health

    Needs no key. It asks for progress, not for processes; 503 with a `reason`: `storage_unavailable` and
    `storage_full` (Redis), `out_of_memory` and `all_models_failed` (no model is served or loading, and one
    failed), `no_progress` (the engines of all loaded models hang), `queue_saturated` (the queues of all
    models that are served have reached `queue.saturated_at`; `modelsSaturated` counts those that have).
    `notReady` is the reason for which `/ready` has 503: a healthy platform may be one whose workers are all
    drained. The answer may be half a second old.
    """
    return _answered(_health)


@routes.endpoint(
    "/v1/health",
    access=Access.PUBLIC,
    responses={200: OkBody, 503: LlamaServerError},
    blocking=False,
)
def check_health_as_llama_server() -> Response:
    """Check whether requests are taken, as clients of llama-server do

    Needs no key. 503 `Loading model` while the platform starts, and 503 with the reason that `/ready` or
    `/health` gives.
    """
    return _answered(_llama_server_health)


@routes.endpoint("/ready", access=Access.PUBLIC, responses={200: ReadyBody, 503: ReadyBody}, blocking=False)
def check_readiness() -> Response:
    """Check whether this process takes requests

    For load balancers; needs no key. 503 with a `reason` while the platform is `starting` (no enabled model
    has been loaded yet) or `draining` (this process or all workers shut down), or while Redis cannot be used.
    """
    return _answered(_readiness)


@routes.endpoint("/live", access=Access.PUBLIC, responses={200: LiveBody}, blocking=False)
def check_liveness() -> Response:
    """Check whether this process runs

    For supervisors, which restart what does not answer; needs no key. The event loop that serves all requests
    answers it, without Redis.
    """
    return json_response({"status": "live", "uptime": _uptime(current_services())})


def not_ready_reason(services: AppServices, health: Health) -> str | None:
    """Why this process takes no requests; None if it does."""
    return health.not_ready if services[ShutdownFlag].is_running() else "draining"


def _answered(render: Callable[[AppServices, Health], tuple[int, Json]]) -> Response:
    services = current_services()

    async def serve(client: ClientConnection) -> None:
        status, body = render(services, await services[HealthReader].get())
        send_json(client, body, status)

    return DetachedResponse(serve)


def _health(services: AppServices, health: Health) -> tuple[int, Json]:
    models = () if health.state is None else health.state.models
    body: Json = {
        "status": "unhealthy" if health.problem else "healthy",
        "uptime": _uptime(services),
        "modelsLoaded": sum(model.is_loaded for model in models),
        "queueDepth": sum(model.queue_depth for model in models),
    }
    if health.saturated:
        body["modelsSaturated"] = health.saturated
    if reason := not_ready_reason(services, health):
        body["notReady"] = reason
    return (503, {**body, "reason": health.problem}) if health.problem else (200, body)


def _llama_server_health(services: AppServices, health: Health) -> tuple[int, Json]:
    reason = not_ready_reason(services, health) or health.problem
    if reason is None:
        return 200, {"status": "ok"}
    status, loading = LOADING
    return status, llama_server_envelope(status, loading if reason == "starting" else reason)


def _readiness(services: AppServices, health: Health) -> tuple[int, Json]:
    reason = not_ready_reason(services, health)
    return (503, {"status": "not_ready", "reason": reason}) if reason else (200, {"status": "ready"})


def _uptime(services: AppServices) -> int:
    return int(time.monotonic() - services.created_at)
