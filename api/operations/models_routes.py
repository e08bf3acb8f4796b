"""/v1/models: the models that a request may name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from typing import Any

from flask import Response, request

from api.access.caller import Caller, current_caller
from api.access.load_rights import check_may_load, may_inspect, may_load, may_operate
from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import query_parameter, two_way_page
from api.http.route_access import Access
from api.inference.capabilities import loras, modalities, remote
from api.inference.catalogue_follower import GAP_S
from api.inference.resumable.schema import LlamaServerError
from api.operations.model_facts import ModelFacts
from api.operations.models_schema import ModelList, ModelObject
from api.operations.router.arguments import arguments_of
from api.operations.router.status import model_status
from api.services import service
from config.settings import ModelDefinition
from fleet.fleet import Fleet
from fleet.model_row import ModelRow
from fleet.model_summary import ModelSummary
from fleet.operation import Operation
from fleet.operation_index import OPEN, OperationFilter
from fleet.presets import PresetService
from fleet.states import ModelState

routes = RouteGroup("models", __name__)


CACHE = "cache"
"""The source of a model that was added while the platform runs, and that can be removed."""

MAX_PAGE = 1000
_LIMIT = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE}


_LIST = partial(
    routes.endpoint,
    access=Access.INFERENCE,
    responses={200: ModelList},
    query=(
        {**query_parameter("limit", "The most models of the page; all unless set."), "schema": _LIMIT},
        query_parameter("after_id", "The id of the last model of the page before."),
        query_parameter("before_id", "The id of the first model of the next page."),
        query_parameter("reload", "1: read the presets file again first; for callers that may load models."),
    ),
    errors=("invalid_request", "admin_required", *STORAGE),
)


@_LIST("/v1/models")
def list_models() -> Response:
    """List the models

    All models that the key may use, loaded or not; `state` tells which can answer now. Pages are Anthropic's.
    `status` is that of llama-server's router. Callers that may load models see what is under way, too, and
    administrators models that are downloaded, and the paths of files.
    """
    return _listed()


@_LIST("/models", error_body=LlamaServerError)
def list_router_models() -> Response:
    """List the models, as llama-server's router

    As `GET /v1/models`.
    """
    return _listed()


def _listed() -> Response:
    caller = current_caller()
    if request.args.get("reload"):
        _reload(caller)
    fleet = service(Fleet)
    usable = [model for model in fleet.summaries() if caller.may_use(model.name)]
    under_way = _under_way(fleet) if may_load(caller) else {}
    listed = [_serialize(model, caller, under_way.get(model.name)) for model in usable]
    if may_inspect(caller):
        listed += _downloading(under_way, {model.name for model in usable})
    every = max(len(listed), 1)
    page, keys = two_way_page(listed, itemgetter("id"), "a model", default=every, maximum=MAX_PAGE)
    return json_response({"data": page, **keys})


def _reload(caller: Caller) -> None:
    """Read the presets file again. Raises `Forbidden`, and `InvalidRequest` with what is wrong in it."""
    check_may_load(caller)
    report = service(PresetService).reload(waits=may_operate(caller))
    if report.problems:
        sentences = (
            "; ".join(report.problems) if may_inspect(caller) else "an administrator has to correct it"
        )
        raise InvalidRequest(f"the presets file was not read: {sentences}", param="reload")


def _under_way(fleet: Fleet) -> dict[str, Operation]:
    """The loads and downloads under way, by model."""
    page = fleet.operation_index.page(MAX_PAGE, wanted=OperationFilter(status=OPEN))
    operations = () if page is None else page.operations
    return {one.model: one for one in operations if one.kind in ("load", "download")}


def _downloading(under_way: Mapping[str, Operation], known: Collection[str]) -> list[dict[str, Any]]:
    """Models that their download will add."""
    found = []
    for name, operation in sorted(under_way.items()):
        if operation.kind == "download" and name not in known:
            model = ModelSummary(
                ModelDefinition(name, backend="stub"), ModelState.UNLOADED, None, None, 0, 0, None, None, 0
            )
            found.append(_serialize(model, None, operation))
    return found


@routes.endpoint(
    "/v1/models/<path:name>",
    access=Access.INFERENCE,
    responses={200: ModelObject},
    path={"name": ("The model's name; it may hold slashes.", "stoker-demo")},
    errors=("unknown_model", "model_not_allowed", *STORAGE),
)
def retrieve_model(name: str) -> Response:
    """Fetch a model

    One model and its state.
    """
    caller = current_caller()
    caller.check_model(name)
    fleet = service(Fleet)
    model = fleet.catalogue.definition(name, after_s=GAP_S)  # clients choose the names
    return json_response(_serialize(fleet.row_of(model), caller, None))


def _serialize(
    model: ModelSummary | ModelRow, caller: Caller | None, operation: Operation | None
) -> dict[str, Any]:
    """A model as the caller sees it; None for one that is downloaded. `operation` is what is under way."""
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
        "chat": service(ModelFacts).of(model.definition, context, caller),
        **_as_llama_server(model, context, operation, to_admin=caller is not None and may_inspect(caller)),
    }


def _as_llama_server(
    model: ModelSummary | ModelRow, context: int | None, operation: Operation | None, *, to_admin: bool
) -> dict[str, Any]:
    """What clients of llama-server read beside the rest: its router's `status`, and what goes in and out."""
    definition = model.definition
    path = {"path": definition.model_path} if to_admin and definition.model_path is not None else {}
    args = arguments_of(definition, shows_paths=to_admin)
    return {
        "aliases": [],
        "tags": [],
        "architecture": {
            "input_modalities": list(modalities(definition)),
            "output_modalities": ["text"],
        },
        "meta": None if context is None else {"n_ctx": context},
        **path,
        "source": _source(definition),
        "can_remove": to_admin and _source(definition) == CACHE,
        "status": model_status(model.state, args, operation),
    }


def _source(model: ModelDefinition) -> str:
    """Where the model comes from, in llama-server's words; `settings` is a file of the configuration."""
    if model.origin is None:
        return "settings"
    return "preset" if model.origin.get("preset") else CACHE
