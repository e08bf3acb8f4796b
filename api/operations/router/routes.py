"""/models/load, /models/unload, /models/sse, and POST and DELETE of /models: llama-server's router."""

from __future__ import annotations

from functools import partial
from typing import Any

from flask import Response

from api.access.authenticator import Authenticator
from api.access.authority import authorization_of_caller
from api.access.caller import Caller, current_caller
from api.access.governed_admin import AdminChange, check_not_governed
from api.access.load_rights import check_may_load, may_operate, sees
from api.access.session_request import current_session
from api.access.session_watch import SessionWatch
from api.http.detached import DetachedResponse
from api.http.error_codes import STORAGE
from api.http.errors import Conflict, InvalidRequest, NotFound
from api.http.http_responses import json_response
from api.http.open_streams import OpenStreams
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.http.server.client_connection import ClientConnection
from api.http.shutdown_flag import ShutdownFlag
from api.inference.catalogue_follower import GAP_S
from api.inference.loading import announce, begin_load
from api.inference.resumable.schema import LlamaServerError
from api.operations.router.feed import RouterFeed, RouterReader
from api.operations.router.schema import NamedModel, RouterStreamEvent, Success
from api.operations.router.status import is_running
from api.services import AppServices, current_services
from config.limits import limits_of
from config.settings import ModelDefinition, Settings
from fleet.fleet import Fleet
from fleet.load_request import LoadOutcome
from fleet.model_row import ModelRow
from fleet.operation import Operation
from fleet.operation_index import OPEN, OperationFilter
from fleet.states import ModelState
from governance.audit import AuditLog
from governance.authorization import Authorization
from store.errors import UnknownModel

routes = RouteGroup("router", __name__)

NOT_FOUND = "model is not found"
READERS = "the model events of {}"
"""What counts as one response with readers: the streams of a tenant."""


@routes.endpoint(
    "/models/load",
    "POST",
    access=Access.INFERENCE,
    body=NamedModel,
    examples={"A model": {"model": "stoker-demo"}},
    responses={200: Success},
    errors=(
        "admin_required",
        "governance_required",
        "not_found",
        "insufficient_memory",
        "no_worker",
        "cooling_down",
        *STORAGE,
    ),
    error_body=LlamaServerError,
)
def load_router_model(body: dict[str, Any]) -> Response:
    """Load a model, as llama-server's router

    The load begins; `GET /models` and `/models/sse` show its progress. 400 if the model is running. It
    unloads no other model. For administrators, and for tenants that may load the models that they may use.
    """
    services, caller = current_services(), current_caller()
    row = _row(services, caller, body["model"], NotFound(NOT_FOUND, param="model"))
    if is_running(row.state):
        raise InvalidRequest("model is already running", param="model")
    begin_load(services, caller, row.name)
    return json_response({"success": True})


@routes.endpoint(
    "/models/unload",
    "POST",
    access=Access.INFERENCE,
    body=NamedModel,
    examples={"A model": {"model": "stoker-demo"}},
    responses={200: Success},
    errors=("admin_required", "governance_required", "model_busy", *STORAGE),
    error_body=LlamaServerError,
)
def unload_router_model(body: dict[str, Any]) -> Response:
    """Unload a model, or cancel its load or its download, as llama-server's router

    400 if it is neither loaded nor on the way. A tenant unloads no model that is pinned or that requests use
    or wait for (409), and cancels no download and no load that others began.
    """
    services, caller, name = current_services(), current_caller(), body["model"]
    check_may_load(caller)
    fleet, authorization = services[Fleet], authorization_of_caller(caller)
    if may_operate(caller) and (download := download_of(fleet, name)) is not None:
        fleet.registered.cancel(download, authorization)
        services[AuditLog].sync()
        return json_response({"success": True})
    row = _row(services, caller, name, InvalidRequest(NOT_FOUND, param="model"))
    if not is_running(row.state):
        raise InvalidRequest("model is not running", param="model")
    check_not_governed(
        services, caller, AdminChange("unload", row.name, "model-unload", {"modelId": row.name})
    )
    if may_operate(caller):
        announce(services, fleet.unload(row.name, authorization))
    else:
        announce(services, _unload_unused(fleet, caller, row, authorization))
    return json_response({"success": True})


@routes.endpoint(
    "/models/sse",
    access=Access.INFERENCE,
    responses={},
    streams=True,
    events=RouterStreamEvent,
    blocking=False,
    errors=("admin_required", "server_busy", "too_many_streams", *STORAGE),
    error_body=LlamaServerError,
)
def follow_router_events() -> Response:
    """Follow the models, as llama-server's router

    Server-sent events about the models that the key may use, from now on: `model_status`,
    `download_progress`, `download_finished`, `download_failed`, `model_remove`, `models_reload`. A client
    that does not read them is disconnected, and reads `GET /models` after it has connected again.
    """
    services, caller, session = current_services(), current_caller(), current_session()
    check_may_load(caller)
    settings = services[Settings]
    limits = limits_of(caller.tenant, settings)

    async def serve(connection: ClientConnection) -> None:
        def runs() -> bool:
            if not services[ShutdownFlag].is_running() or not services[Authenticator].is_valid(caller):
                return False
            return session is None or services[SessionWatch].is_live(session)

        streams, tenant = services[OpenStreams], caller.tenant.name
        reader = RouterReader(connection, partial(sees, caller), settings.api.keep_alive_s, runs)
        with (
            streams.count_reader(READERS.format(tenant), limits),
            streams.hold(reader, tenant, limits),
            services[SessionWatch].hold(session),
        ):
            await reader.read(services[RouterFeed])

    return DetachedResponse(serve)


def _row(services: AppServices, caller: Caller, name: str, not_found: Exception) -> ModelRow:
    """The state of a model that the caller may load. Raises `Forbidden`, and `not_found`."""
    check_may_load(caller)
    try:
        model: ModelDefinition = services[Fleet].catalogue.definition(name, after_s=GAP_S)
    except UnknownModel:
        raise not_found from None
    if not sees(caller, model.name):
        raise not_found
    return services[Fleet].row_of(model)


def _unload_unused(fleet: Fleet, caller: Caller, row: ModelRow, authorization: Authorization) -> LoadOutcome:
    """Unload a model that others do not need. Raises `Conflict`: a tenant must not take it from them."""
    if row.definition.pin:
        raise Conflict(f"model {row.name} is pinned: only an administrator unloads it", code="model_busy")
    outcome = fleet.unload_unused(row.name, authorization, _own_load(fleet, caller, row))
    if not outcome.begun and fleet.row_of(row.definition).state in (ModelState.LOADING, ModelState.LOADED):
        raise Conflict(
            f"model {row.name} is in use: only an administrator unloads it while requests run or wait",
            code="model_busy",
        )
    return outcome


def _own_load(fleet: Fleet, caller: Caller, row: ModelRow) -> Operation | None:
    """The load under way. Raises `Conflict` for one that an administrator or another tenant began."""
    if row.state is not ModelState.LOADING:
        return None
    load = fleet.operation(row.operation_id or "")
    authority = (load and load.authority) or {}
    own = {caller.tenant.name, authorization_of_caller(caller).actor}
    if own.isdisjoint((authority.get("actor"), authority.get("requested_by"))):
        raise Conflict(
            f"model {row.name} is being loaded for others: only an administrator cancels that",
            code="model_busy",
        )
    return load


def download_of(fleet: Fleet, name: str) -> Operation | None:
    """The download of a model that is under way."""
    page = fleet.operation_index.page(1, wanted=OperationFilter("download", name, OPEN))
    return None if page is None else next(iter(page.operations), None)
