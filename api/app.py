"""The Flask app: which routes it has, and what surrounds them."""

from __future__ import annotations

from functools import partial

from flask import Flask

from api import request_hooks
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
from api.http.documentation import with_policy
from api.http.openapi import DESCRIPTION, Api
from api.http.parameters import AnyTextConverter, ModelNameConverter, TaskIdConverter
from api.http.request_headers import StokerRequest
from api.http.route_access import Access, declare
from api.http.stoker_flask import StokerFlask
from api.inference.audio import routes as audio
from api.inference.chat import control_routes as chat_control
from api.inference.chat import routes as chat
from api.inference.comfyui import routes as comfyui
from api.inference.completions import routes as completions
from api.inference.conversations import routes as conversations
from api.inference.embeddings import routes as embeddings
from api.inference.images import routes as images
from api.inference.llama_server import completion_routes as llama_completions
from api.inference.llama_server import embedding_routes as own_embeddings
from api.inference.llama_server import model_routes as model_properties
from api.inference.llama_server import state_routes as states
from api.inference.llama_server import text_routes as text_tasks
from api.inference.media import routes as media
from api.inference.messages import routes as anthropic_messages
from api.inference.ollama import routes as ollama
from api.inference.rerank import routes as rerank
from api.inference.responses import routes as responses
from api.inference.resumable import routes as streams
from api.inference.resumable import running_routes as running_requests
from api.operations import additions_routes as additions
from api.operations import admin_routes as admin
from api.operations import cache_routes as cache
from api.operations import changes_routes as changes
from api.operations import engine_log_routes as engine_log
from api.operations import health_routes as health
from api.operations import hub_routes as hub
from api.operations import jobs_routes as jobs
from api.operations import load_plans_routes as load_plans
from api.operations import model_events_routes as model_events
from api.operations import model_runner_routes as runner
from api.operations import models_routes as models
from api.operations import operations_routes as operations
from api.operations import queues_routes as queues
from api.operations import requests_routes as requests
from api.operations import ui_routes as ui
from api.operations import workers_routes as workers
from api.operations.alerts import routes as alerts
from api.operations.metrics import recent_routes as recent_metrics
from api.operations.metrics import routes as metrics
from api.operations.router import adding_routes as router_adding
from api.operations.router import routes as router
from api.services import EXTENSION, AppServices
from api.tools import routes as tools
from config.settings import Settings
from config.version import version

ROUTE_GROUPS = (
    responses,
    conversations,
    chat,
    chat_control,
    completions,
    embeddings,
    rerank,
    audio,
    images,
    comfyui,
    media,
    own_embeddings,
    text_tasks,
    model_properties,
    anthropic_messages,
    ollama,
    llama_completions,
    streams,
    running_requests,
    states,
    tools,
    files,
    batches,
    message_batches,
    models,
    router,
    router_adding,
    lifecycle,
    runner,
    health,
    queues,
    jobs,
    requests,
    admin,
    load_plans,
    hub,
    operations,
    workers,
    alerts,
    recent_metrics,
    additions,
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
)
"""In the order of the OpenAPI document, after the metrics."""

DOCUMENTATION_PAGE = "api-docs.openapi_swagger_ui"
DOCUMENTATION_ENDPOINTS = ("static", "api-docs.openapi_json", DOCUMENTATION_PAGE)
"""Endpoints of Flask and flask-smorest, which do not declare an access themselves."""


def create_app(settings: Settings, services: AppServices) -> Flask:
    """Return the app for these settings, whose views use these services."""
    app = create_bare_app(with_metrics=settings.metrics.enabled, with_ui=settings.ui.enabled)
    complete(app, settings, services)
    return app


def complete(app: Flask, settings: Settings, services: AppServices) -> None:
    """Give an app all that differs between apps with the same routes."""
    app.config["MAX_CONTENT_LENGTH"] = settings.api.max_body_bytes
    app.extensions[EXTENSION] = services


def create_bare_app(*, with_metrics: bool, with_ui: bool) -> StokerFlask:
    """Return an app with all routes, which has neither services nor settings yet."""
    # not the whole folder `static`: the pages of the UI are served with their policy only
    app = StokerFlask("api", static_folder="static/swagger-ui", static_url_path="/static/swagger-ui")
    app.request_class = StokerRequest
    app.config.from_mapping(
        API_TITLE="Stoker",
        API_VERSION=version(),
        OPENAPI_VERSION="3.1.0",
        OPENAPI_URL_PREFIX="/",
        OPENAPI_SWAGGER_UI_PATH="/docs",
        OPENAPI_SWAGGER_UI_URL="static/swagger-ui/",  # relative: a proxy may have put a prefix before
        OPENAPI_SWAGGER_UI_CONFIG={"validatorUrl": None},  # the default is a server on the internet
        API_SPEC_OPTIONS={
            "info": {"description": DESCRIPTION},
            "security": [{"key": []}],
            "servers": [{"url": "."}],  # relative to the document
        },
    )
    app.json.sort_keys = False  # type: ignore[attr-defined]  # Flask's provider has it, its base class does not
    app.url_map.converters["model"] = ModelNameConverter
    app.url_map.converters["any_text"] = AnyTextConverter
    app.url_map.converters["task"] = TaskIdConverter
    app.url_map.merge_slashes = (
        False  # a redirect to the path with single slashes would name the client's `Host`
    )
    request_hooks.install(app)
    api = Api(app)
    for group in (*([metrics] if with_metrics else []), *ROUTE_GROUPS):
        api.register_blueprint(group.routes)
    ollama.register(app)
    if with_ui:
        ui.register(app)
    page = app.view_functions[DOCUMENTATION_PAGE]
    app.view_functions[DOCUMENTATION_PAGE] = with_policy(page)
    for endpoint in DOCUMENTATION_ENDPOINTS:
        app.view_functions[endpoint] = declare(partial(app.view_functions[endpoint]), Access.PUBLIC)
    return app
