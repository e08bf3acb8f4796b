"""GET /v1/capabilities: the state of the platform as the Model Runner API describes a runner."""

from __future__ import annotations

import hashlib

import orjson
from flask import Response, request

from api.access.caller import current_caller
from api.http.detached import DetachedResponse
from api.http.error_codes import STORAGE
from api.http.errors import ApiError
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.http.server.client_connection import ClientConnection
from api.operations.health import HealthReader
from api.operations.health_routes import not_ready_reason
from api.operations.model_runner import MAX_AGE_S, RunnerStateReader, runner_document
from api.operations.model_runner_schema import RunnerCapabilities
from api.services import current_services
from config.settings import Settings

routes = RouteGroup("runner", __name__)

REASONS = {
    "starting": "the platform is starting: no enabled model is loaded yet",
    "draining": "all workers are draining, or the platform is shutting down",
    "storage_unavailable": "the shared store (Redis) cannot be reached",
    "storage_full": "the shared store (Redis) does not accept writes",
}
CACHE_CONTROL = f"max-age={MAX_AGE_S:.0f}"


@routes.endpoint(
    "/v1/capabilities",
    access=Access.INFERENCE,
    responses={200: RunnerCapabilities, 304: None},
    errors=("starting", "draining", *STORAGE),
    headers=(
        {
            "name": "If-None-Match",
            "in": "header",
            "description": "The `ETag` of an earlier answer: 304 if nothing has changed since.",
            "schema": {"type": "string"},
        },
    ),
    blocking=False,
)
def describe_capabilities() -> Response:
    """Describe what the platform can do, and its state

    What is loaded, loading and configured, GPUs and caches, queues, and what the loaded models can do; of the
    models those that the key may use. The answer may be five seconds old, as its `Cache-Control` says.
    """
    services, caller, known = current_services(), current_caller(), request.headers.get("If-None-Match")

    async def serve(client: ClientConnection) -> None:
        health = await services[HealthReader].get()
        reason = not_ready_reason(services, health)
        if reason is not None:
            message = REASONS.get(reason, "the platform does not accept requests")
            raise ApiError(message, code=reason, retry_after_s=5)
        state = await services[RunnerStateReader].get()
        document = runner_document(state, services[Settings], caller.may_use, healthy=health.problem is None)
        body = orjson.dumps(document)
        etag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
        headers = {"ETag": etag, "Cache-Control": CACHE_CONTROL, "Vary": "Authorization, x-api-key"}
        if matches(known, etag):
            client.respond(304, headers, b"")
        else:
            client.respond(200, {"Content-Type": "application/json", **headers}, body)

    return DetachedResponse(serve)


def matches(known: str | None, etag: str) -> bool:
    """Whether the value of an `If-None-Match` names this ETag (RFC 9110, 13.1.2: weak comparison)."""
    tags = {tag.strip().removeprefix("W/") for tag in (known or "").split(",")}
    return etag in tags or "*" in tags
