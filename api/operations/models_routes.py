"""/v1/models: the models that a request may name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from flask import Response

from api.access.caller import current_caller
from api.http.error_codes import STORAGE
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import query_parameter, two_way_page
from api.http.route_access import Access
from api.inference.capabilities import loras, modalities, remote
from api.inference.catalogue_follower import GAP_S
from api.operations.models_schema import ModelList, ModelObject
from api.services import service
from fleet.fleet import Fleet
from fleet.model_row import ModelRow
from fleet.model_summary import ModelSummary
from fleet.states import ModelState

routes = RouteGroup(
    "models", __name__, description="The models, with the keys of OpenAI's and Anthropic's objects."
)


MAX_PAGE = 1000
_LIMIT = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE}


@routes.endpoint(
    "/v1/models",
    access=Access.INFERENCE,
    responses={200: ModelList},
    query=(
        {**query_parameter("limit", "The most models of the page; all unless set."), "schema": _LIMIT},
        query_parameter("after_id", "The id of the last model of the page before."),
        query_parameter("before_id", "The id of the first model of the next page."),
    ),
    errors=STORAGE,
)
def list_models() -> Response:
    """List the models

    All models that the key may use, loaded or not; `state` tells which can answer now. Pages are Anthropic's.
    """
    caller, summaries = current_caller(), service(Fleet).summaries()
    usable = [model for model in summaries if caller.may_use(model.name)]
    every = max(len(usable), 1)
    page, keys = two_way_page(usable, lambda model: model.name, "a model", default=every, maximum=MAX_PAGE)
    return json_response({"data": [_serialize(model) for model in page], **keys})


@routes.endpoint(
    "/v1/models/<path:name>",
    access=Access.INFERENCE,
    responses={200: ModelObject},
    path={"name": "The model's name; it may hold slashes."},
    errors=("unknown_model", "model_not_allowed", *STORAGE),
)
def retrieve_model(name: str) -> Response:
    """Fetch a model

    One model and its state.
    """
    current_caller().check_model(name)
    fleet = service(Fleet)
    model = fleet.catalogue.definition(name, after_s=GAP_S)  # clients choose the names
    return json_response(_serialize(fleet.row_of(model)))


def _serialize(model: ModelSummary | ModelRow) -> dict[str, Any]:
    created = int(model.loaded_at or 0)
    context = model.context if model.state is ModelState.LOADED else None
    return {
        "id": model.name,
        "object": "model",
        "created": created,
        "owned_by": "stoker",
        "type": "model",
        "display_name": model.name,
        "created_at": datetime.fromtimestamp(created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "lifecycle": "active",
        "context_length": context,
        "max_model_len": context,
        "max_input_tokens": context,
        "max_tokens": context,
        "state": str(model.state),
        "remote": remote(model.definition),
        "lora": list(loras(model.definition)),
        **_as_llama_server(model, context),
    }


def _as_llama_server(model: ModelSummary | ModelRow, context: int | None) -> dict[str, Any]:
    """What clients of llama-server read beside the rest: its router's `status`, and what goes in and out."""
    loads = model.state in (ModelState.LOADING, ModelState.LOADED)
    state = str(model.state) if loads else str(ModelState.UNLOADED)
    return {
        "aliases": [],
        "tags": [],
        "architecture": {
            "input_modalities": list(modalities(model.definition)),
            "output_modalities": ["text"],
        },
        "meta": None if context is None else {"n_ctx": context},
        "status": {"value": state, "args": [], "failed": model.state is ModelState.FAILED},
    }
