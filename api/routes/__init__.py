"""The routes: one file per group of endpoints. A view converts between HTTP and a call of the services."""

from __future__ import annotations

from api.openapi import Api
from api.routes import (
    admin,
    chat,
    completions,
    health,
    keys,
    metrics,
    model_events,
    models,
    queues,
    responses,
    runner,
    tenants,
    usage,
)


def register(api: Api, *, with_metrics: bool = True) -> None:
    """Add all groups to the app and its OpenAPI document."""
    if with_metrics:
        api.register_blueprint(metrics.routes)
    for group in (
        responses,
        chat,
        completions,
        models,
        runner,
        health,
        queues,
        admin,
        model_events,
        tenants,
        keys,
        usage,
    ):
        api.register_blueprint(group.routes)
