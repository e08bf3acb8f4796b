"""The routes: one file per group of endpoints. A view converts between HTTP and a call of the services."""

from __future__ import annotations

from api.openapi import Api
from api.routes import (
    admin,
    anthropic_messages,
    audit,
    batches,
    cache,
    changes,
    chat,
    completions,
    embeddings,
    engine_log,
    files,
    health,
    jobs,
    keys,
    lifecycle,
    load_plans,
    message_batches,
    metrics,
    model_events,
    models,
    ollama,
    operations,
    proposals,
    queues,
    receipts,
    recent_metrics,
    rerank,
    responses,
    runner,
    session,
    tenant_limits,
    tenants,
    usage,
    workers,
)


def register(api: Api, *, with_metrics: bool = True) -> None:
    """Add all groups to the app and its OpenAPI document."""
    if with_metrics:
        api.register_blueprint(metrics.routes)
    for group in (
        responses,
        chat,
        completions,
        embeddings,
        rerank,
        anthropic_messages,
        ollama,
        files,
        batches,
        message_batches,
        models,
        lifecycle,
        runner,
        health,
        queues,
        jobs,
        admin,
        load_plans,
        operations,
        workers,
        recent_metrics,
        cache,
        model_events,
        changes,
        engine_log,
        session,
        tenants,
        tenant_limits,
        keys,
        proposals,
        usage,
        audit,
        receipts,
    ):
        api.register_blueprint(group.routes)
