"""/props, /slots and /lora-adapters: what a model is, and how busy. No request of these waits for an engine.

`POST /slots/{id}` is elsewhere: it acts on the state of a conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flask import Response, request

from api.access.caller import current_caller
from api.http.error_codes import STORAGE
from api.http.errors import ApiError, NotSupported
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import query_parameter
from api.http.route_access import Access
from api.inference.autoload import AUTOLOAD, load_choice
from api.inference.capabilities import loras, modalities
from api.inference.catalogue_follower import GAP_S
from api.inference.llama_server.model_name import model_of
from api.inference.llama_server.model_schema import LoraAdapter, Properties, Slot
from api.inference.loading import begin_load
from api.inference.resumable.schema import LlamaServerError
from api.services import current_services, service
from config.settings import ModelDefinition, Settings
from config.version import version
from fleet.fleet import Fleet
from fleet.model_row import ModelRow, effective_options
from fleet.states import ModelState
from scheduler.rejections import model_rejection

MAX_SLOTS = 4096
"""The most slots that are listed."""

SPECULATION = ("spec_type", "speculative_method")
"""What the names of the options of speculative decoding end with."""

routes = RouteGroup("model_properties", __name__)

_MODEL = query_parameter(
    "model", "Name of the model; the only one that the key may use unless set.", example="stoker-demo"
)
UNLOADED = (ModelState.UNLOADED, ModelState.FAILED)
_STATE_ERRORS = ("model_not_loaded", "model_loading", "model_unloading", "model_failed")
_ERRORS = ("invalid_request", "unknown_model", "model_not_allowed", *_STATE_ERRORS, *STORAGE)


@routes.endpoint(
    "/props",
    access=Access.INFERENCE,
    responses={200: Properties},
    below_v1=True,
    query=(_MODEL, AUTOLOAD),
    errors=_ERRORS,
    error_body=LlamaServerError,
)
def show_properties() -> Response:
    """Show the properties of a model

    Its chat template, its context, its defaults: what the model's engine reported at its load. Without
    `model`, where the key may use several, the properties of llama-server's router.
    """
    caller, models = current_caller(), service(Fleet).catalogue.models
    usable = [model for name, model in models.items() if caller.may_use(name)]
    if not request.args.get("model") and len(usable) != 1:
        return json_response(_router(usable, service(Settings).on_demand.max_loaded))
    row = _loaded_model()
    return json_response(_properties(row, service(Fleet).engine_properties(row.name)))


@routes.endpoint(
    "/props",
    "POST",
    access=Access.INFERENCE,
    responses={},
    errors=("not_supported",),
    error_body=LlamaServerError,
)
def change_properties() -> Response:
    """Refuse to change properties

    501, as a llama-server without `--props`.
    """
    raise NotSupported("This server does not support changing global properties")


@routes.endpoint(
    "/slots",
    access=Access.INFERENCE,
    responses={200: Slot(many=True)},
    query=(_MODEL, AUTOLOAD, query_parameter("fail_on_no_slot", "1: 503 if no slot is free.")),
    errors=(*_ERRORS, "server_busy"),
    error_body=LlamaServerError,
)
def list_slots() -> Response:
    """List the slots of a model

    How many there are and how many are taken, over all replicas; slots belong to the platform, and no request
    chooses one.
    """
    row = _loaded_model()
    slots = min(MAX_SLOTS, row.slots * row.loaded_replicas)
    if request.args.get("fail_on_no_slot") and row.inflight >= slots:
        raise ApiError("no slot available", code="server_busy")
    options = effective_options(row.definition, row.active_override)
    speculates = any(value for name, value in options.items() if name.endswith(SPECULATION))
    shown = [
        {"id": id, "n_ctx": row.context or 0, "speculative": speculates, "is_processing": id < row.inflight}
        for id in range(slots)
    ]
    return json_response(shown)


@routes.endpoint(
    "/lora-adapters",
    access=Access.INFERENCE,
    responses={200: LoraAdapter(many=True)},
    query=(_MODEL,),
    errors=("invalid_request", "unknown_model", "model_not_allowed", *STORAGE),
    error_body=LlamaServerError,
)
def list_lora_adapters() -> Response:
    """List the LoRA adapters of a model

    By their names, which a request gives in its field `lora`.
    """
    names = loras(_model())
    return json_response([{"id": id, "path": name, "scale": 0.0} for id, name in enumerate(names)])


@routes.endpoint(
    "/lora-adapters",
    "POST",
    access=Access.INFERENCE,
    responses={},
    errors=("not_supported",),
    error_body=LlamaServerError,
)
def scale_lora_adapters() -> Response:
    """Refuse to scale adapters

    501: it would change the answers of all tenants.
    """
    raise NotSupported("This server has no global LoRA adapters: a request names its own in the field `lora`")


def _model() -> ModelDefinition:
    """The model of the query. Raises `StokerError`."""
    name = model_of(request.args.get("model"))
    current_caller().check_model(name)
    return service(Fleet).catalogue.definition(name, after_s=GAP_S)  # clients choose the names


def _loaded_model() -> ModelRow:
    """The model of the query, which is loaded. Raises `StokerError`, also when it is loaded from now on."""
    row = service(Fleet).row_of(_model())
    if row.state in UNLOADED and load_choice(request, current_caller()):
        begin_load(current_services(), current_caller(), row.name)
        row = replace(row, state=ModelState.LOADING)
    if row.state is not ModelState.LOADED:
        raise model_rejection(row.name, str(row.state), row.code or "")
    return row


def _router(models: Sequence[ModelDefinition], max_loaded: int | None) -> dict[str, Any]:
    return {
        "role": "router",
        "max_instances": len(models) if max_loaded is None else max_loaded,
        "models_autoload": any(model.on_demand == "load" for model in models),
        "model_alias": "stoker",
        "model_path": "none",
        "default_generation_settings": {"params": {}, "n_ctx": 0},
        "ui_settings": {},
        "webui_settings": {},
        "build_info": _build_info(),
    }


def _properties(row: ModelRow, reported: Any) -> dict[str, Any]:
    accepted = modalities(row.definition)
    return {
        "default_generation_settings": {"params": reported["params"], "n_ctx": row.context or 0},
        "total_slots": row.slots * row.loaded_replicas,
        "model_alias": row.name,
        "model_path": row.name,
        "modalities": {"vision": "image" in accepted, "video": False, "audio": "audio" in accepted},
        "chat_template": reported["chat_template"],
        "chat_template_caps": reported["chat_template_caps"],
        "bos_token": reported["bos_token"],
        "eos_token": reported["eos_token"],
        "build_info": _build_info(),
        "is_sleeping": False,
        "endpoint_slots": True,
        "endpoint_props": False,
        "endpoint_metrics": True,
        "ui": False,
        "ui_settings": {},
        "webui_settings": {},
        "cors_proxy_enabled": False,
    }


def _build_info() -> str:
    return f"stoker-{version()}"
