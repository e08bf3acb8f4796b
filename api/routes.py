"""The routes: one file per group of endpoints. A view converts between HTTP and a call of the services."""

from __future__ import annotations

from api.access import keys_routes as keys
from api.access import session_routes as session
from api.access import tenant_limits_routes as tenant_limits
from api.access import tenants_routes as tenants
from api.access import usage_routes as usage
from api.approvals import audit_routes as audit
from api.approvals import receipts_routes as receipts
from api.approvals.lifecycle import routes as lifecycle
from api.approvals.proposals import routes as proposals
from api.batches import message_routes as message_batches
from api.batches import routes as batches
from api.files import routes as files
from api.http.openapi import Api
from api.inference.chat import routes as chat
from api.inference.completions import routes as completions
from api.inference.conversations import routes as conversations
from api.inference.embeddings import routes as embeddings
from api.inference.messages import routes as anthropic_messages
from api.inference.ollama import routes as ollama
from api.inference.rerank import routes as rerank
from api.inference.responses import routes as responses
from api.operations import admin_routes as admin
from api.operations import cache_routes as cache
from api.operations import changes_routes as changes
from api.operations import engine_log_routes as engine_log
from api.operations import health_routes as health
from api.operations import jobs_routes as jobs
from api.operations import load_plans_routes as load_plans
from api.operations import model_events_routes as model_events
from api.operations import model_runner_routes as runner
from api.operations import models_routes as models
from api.operations import operations_routes as operations
from api.operations import queues_routes as queues
from api.operations import workers_routes as workers
from api.operations.metrics import recent_routes as recent_metrics
from api.operations.metrics import routes as metrics


def register(api: Api, *, with_metrics: bool = True) -> None:
    """Add all groups to the app and its OpenAPI document."""
    if with_metrics:
        api.register_blueprint(metrics.routes)
    for group in (
        responses,
        conversations,
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
