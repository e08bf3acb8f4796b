"""GET /health."""

from __future__ import annotations

import time

from flask import Response

from api.auth.access import Access
from api.http_responses import json_response
from api.openapi import RouteGroup
from api.schemas.models import Health
from api.services import AppServices, current_services
from fleet.model_summary import ModelSummary
from fleet.states import ModelState
from scheduler.errors import StokerError

routes = RouteGroup("health", __name__, description="Whether the platform can work.")


@routes.endpoint("/health", access=Access.PUBLIC, responses={200: Health, 503: Health})
def check_health() -> Response:
    """Check the platform's health

    Needs no key. 503 when Redis is unreachable or takes no writes, or when there are models and all of them
    failed; `reason` is the cause.
    """
    services = current_services()
    try:
        services.redis_probe.write()
        models = services.fleet.summaries()
    except StokerError as error:
        return _health_response(services, [], error.code)
    failed = bool(models) and all(model.state is ModelState.FAILED for model in models)
    return _health_response(services, models, "all_models_failed" if failed else None)


def _health_response(services: AppServices, models: list[ModelSummary], reason: str | None) -> Response:
    health = {
        "status": "unhealthy" if reason else "healthy",
        "uptime": int(time.monotonic() - services.created_at),
        "modelsLoaded": sum(model.state is ModelState.LOADED for model in models),
        "queueDepth": sum(model.queue_depth for model in models),
    }
    return json_response(health | ({"reason": reason} if reason else {}), 503 if reason else 200)
