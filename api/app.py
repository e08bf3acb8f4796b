"""The Flask app: which routes it has, and what surrounds them."""

from __future__ import annotations

from functools import partial

from flask import Flask

from api import request_hooks
from api.access import account_routes as account
from api.access import browser_sessions_routes as sessions
from api.access import keys_routes as keys
from api.access import session_routes as session
from api.access import tenant_limits_routes as tenant_limits
from api.access import tenants_routes as tenants
from api.access import usage_routes as usage
from api.access.oidc import routes as oidc
from api.approvals import audit_routes as audit
from api.approvals import receipts_routes as receipts
from api.approvals.lifecycle import routes as lifecycle
from api.approvals.proposals import routes as proposals
from api.batches import message_routes as message_batches
from api.batches import routes as batches
from api.files import routes as files
from api.http import documentation
from api.http.openapi import DESCRIPTION, Api, Section
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
from api.operations.webhooks import routes as webhooks
from api.services import EXTENSION, AppServices
from api.tools import routes as tools
from config.settings import Settings
from config.version import version

SECTIONS = (
    Section(
        "Answers",
        "Ask a model, in the forms of OpenAI's and Anthropic's APIs. Begin here.",
        (chat, responses, anthropic_messages, completions, chat_control),
    ),
    Section(
        "Conversations and streams",
        "Keep conversations on the platform; follow, resume and detach requests that run.",
        (conversations, running_requests, streams),
    ),
    Section(
        "Embeddings and ranking",
        "Make vectors of texts, and order documents by a question.",
        (embeddings, rerank, own_embeddings),
    ),
    Section(
        "Audio and images",
        "Transcribe and speak, make and change images, and run workflows of ComfyUI.",
        (audio, images, comfyui, media),
    ),
    Section(
        "Files and batches",
        "Upload files, and have many requests answered in the background.",
        (files, batches, message_batches),
    ),
    Section("Tools", "List and call the tools that the platform runs for clients.", (tools,)),
    Section("Models", "Which models there are, and what they and the platform can do.", (models, runner)),
    Section("Ollama", "The routes of Ollama's API, for programs that know it.", (ollama,)),
    Section(
        "llama-server",
        "The native routes of llama-server and of its router, for programs that know them.",
        (llama_completions, text_tasks, model_properties, states, router, router_adding),
    ),
    Section(
        "Loading",
        "Load and unload models, add and remove them, and flush their caches; for administrators.",
        (admin, load_plans, operations, additions, hub, cache),
    ),
    Section(
        "Operations",
        "Queues, jobs and requests, workers, alerts, webhooks, and all changes; mostly for administrators.",
        (
            queues,
            jobs,
            requests,
            workers,
            alerts,
            webhooks,
            model_events,
            changes,
            engine_log,
            recent_metrics,
        ),
    ),
    Section(
        "Tenants and keys",
        "Tenants with their limits, their keys, and what they used; sessions of browsers.",
        (account, tenants, tenant_limits, keys, usage, session, oidc, sessions),
    ),
    Section(
        "Governance",
        "Changes that need approval, the audit chain, and receipts of answers.",
        (proposals, lifecycle, audit, receipts),
    ),
    Section("Health", "Whether the platform works, and measurements for Prometheus.", (health, metrics)),
)
"""All groups of routes, in the order in which a newcomer reads the document."""

DOCUMENT = "api-docs.openapi_json"
"""The endpoint of flask-smorest, which does not declare an access itself."""

DOCUMENTATION_ENDPOINTS = (DOCUMENT, *documentation.ENDPOINTS)


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
    app = StokerFlask("api", static_folder=None)
    app.request_class = StokerRequest
    app.config.from_mapping(
        API_TITLE="Stoker",
        API_VERSION=version(),
        OPENAPI_VERSION="3.1.0",
        OPENAPI_URL_PREFIX="/",
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
    for section in SECTIONS:
        groups = [group.routes for group in section.groups if group is not metrics or with_metrics]
        api.register_section(section.title, section.about, groups)
    ollama.register(app)
    if with_ui:
        ui.register(app)
    documentation.register(app, with_ui=with_ui)
    app.view_functions[DOCUMENT] = declare(partial(app.view_functions[DOCUMENT]), Access.PUBLIC)
    return app
