"""The Flask app: wiring only."""

from __future__ import annotations

from functools import partial

from flask import Flask

from api import request_hooks, routes
from api.http.documentation import with_policy
from api.http.openapi import DESCRIPTION, Api
from api.http.parameters import ModelNameConverter, TaskIdConverter
from api.http.request_headers import StokerRequest
from api.http.route_access import Access, declare
from api.http.stoker_flask import StokerFlask
from api.inference.ollama import routes as ollama
from api.operations import ui_routes as ui
from api.services import EXTENSION, AppServices
from api.wiring import make_services
from config.settings import Settings
from config.version import version

DOCUMENTATION_PAGE = "api-docs.openapi_swagger_ui"
DOCUMENTATION_ENDPOINTS = ("static", "api-docs.openapi_json", DOCUMENTATION_PAGE)
"""Endpoints of Flask and flask-smorest, which do not declare an access themselves."""


def create_app(settings: Settings, services: AppServices | None = None) -> Flask:
    """The app for these settings. It makes its own services unless they are given.

    Nothing connects before `AppServices.start`. Raises `ConfigError` when the API would be open to the
    network.
    """
    # not the whole folder `static`: the pages of the UI are served with their policy only
    app = StokerFlask("api", static_folder="static/swagger-ui", static_url_path="/static/swagger-ui")
    app.request_class = StokerRequest
    app.config.from_mapping(
        MAX_CONTENT_LENGTH=settings.api.max_body_bytes,
        API_TITLE="Stoker",
        API_VERSION=version(),
        OPENAPI_VERSION="3.1.0",
        OPENAPI_URL_PREFIX="/",
        OPENAPI_SWAGGER_UI_PATH="/docs",
        OPENAPI_SWAGGER_UI_URL="/static/swagger-ui/",
        OPENAPI_SWAGGER_UI_CONFIG={"validatorUrl": None},  # the default is a server on the internet
        API_SPEC_OPTIONS={"info": {"description": DESCRIPTION}, "security": [{"key": []}]},
    )
    app.json.sort_keys = False  # type: ignore[attr-defined]  # Flask's provider has it, its base class does not
    app.extensions[EXTENSION] = services or make_services(settings)
    app.url_map.converters["model"] = ModelNameConverter
    app.url_map.converters["task"] = TaskIdConverter
    app.url_map.merge_slashes = (
        False  # a redirect to the path with single slashes would name the client's `Host`
    )
    request_hooks.install(app)
    routes.register(Api(app), with_metrics=settings.metrics.enabled)
    ollama.register(app)
    if settings.ui.enabled:
        ui.register(app)
    page = app.view_functions[DOCUMENTATION_PAGE]
    app.view_functions[DOCUMENTATION_PAGE] = with_policy(page)
    for endpoint in DOCUMENTATION_ENDPOINTS:
        app.view_functions[endpoint] = declare(partial(app.view_functions[endpoint]), Access.PUBLIC)
    return app
