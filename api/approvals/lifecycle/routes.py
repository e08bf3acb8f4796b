"""The governed lifecycle of the Model Runner API: /v1/models/load, /v1/models/unload, /v1/cache/flush."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from api.access.caller import current_caller
from api.approvals.lifecycle.attempts import AttemptLimit
from api.approvals.lifecycle.authorize import check_configured
from api.approvals.lifecycle.example import approved
from api.approvals.lifecycle.execution import plan
from api.approvals.lifecycle.governed import perform
from api.approvals.lifecycle.model_request import served_name
from api.approvals.lifecycle.requests import LifecycleRequest, parse
from api.approvals.lifecycle.schema import (
    CacheFlushBody,
    FlushTask,
    LoadTask,
    ModelLoadBody,
    ModelUnloadBody,
    UnloadTask,
)
from api.approvals.lifecycle.task_objects import loaded_object, task_object, unloaded_object
from api.approvals.proposals.schema import ProposalObject
from api.approvals.proposals.serializer import proposed_response
from api.http.error_codes import STORAGE
from api.http.errors import NotFound
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import PREFER, integer_parameter, query_parameter
from api.http.prefer import Answer, answer_at_end
from api.http.route_access import Access
from api.inference.capabilities import remote
from api.operations.model_runner import gpu_memory_mib
from api.operations.operation_plans_schema import LoadPlan
from api.services import AppServices, current_services
from config.settings import FLUSH, LOAD, UNLOAD, Settings
from fleet.fleet import Fleet
from fleet.operation import Operation
from governance.proposals.proposal import Proposal

routes = RouteGroup("lifecycle", __name__)

PATHS = {"load": "/v1/models/load", "unload": "/v1/models/unload", "flush": "/v1/cache/flush"}
"""Of the tasks, by kind."""

REFUSALS = (
    "governance_not_configured",
    "operation_not_authorized",
    "rate_limit_exceeded",
    "too_many_proposals",
    "model_not_allowed",
    "unknown_model",
    *STORAGE,
)
HUB = ("hub_unreachable", "hub_busy", "hub_not_found", "hub_access_denied", "hub_refused")
"""What a look at a model on a hub may fail with."""

_TASK = {"id": "The task's id."}


@routes.endpoint(
    "/v1/models/load",
    "POST",
    access=Access.LIFECYCLE,
    body=ModelLoadBody,
    examples={
        "With an opToken": approved("model-load", modelId="stoker-demo"),
        "As a proposal": {"modelId": "stoker-demo", "propose": True},
    },
    reads_body=True,
    responses={200: LoadTask, 202: (LoadTask, ProposalObject)},
    headers=(PREFER,),
    errors=(
        *REFUSALS,
        "model_not_allowed",
        "model_not_downloaded",
        *HUB,
        "cooling_down",
        "too_many_models",
        "model_unloading",
        "model_loading",
        "invalid_load_request",
        "insufficient_memory",
        "no_worker",
    ),
)
def load_model_governed() -> Response:
    """Load a model by an opToken

    202: the load has begun, or was under way already; poll `GET /v1/models/load/{taskId}`. 200 with the
    completed task: the model is loaded already; and with `Prefer: wait=N`, when the load has ended. Either
    way the opToken is used up. An answer with an error uses nothing up. 403 `operation_not_authorized` is the
    answer for every fault of the opToken. With `evictModel` that model is unloaded first; if that fails, the
    load fails.

    A model that is not configured is loaded as far as `governance.models` and `governance.allow` permit:
    `modelId` is a path below MODEL_BASE_PATH, or `owner/name` of a repository of Hugging Face. It is there
    until it is unloaded. 400 `invalid_load_request`: its backend cannot honour a parameter; the message says
    what it can.
    """
    return _perform(LOAD)


@routes.endpoint(
    "/v1/models/load/plan",
    access=Access.LIFECYCLE,
    responses={200: LoadPlan},
    query=[
        query_parameter("modelId", "The model.", required=True, example="stoker-demo"),
        *(
            query_parameter(name, about, kind)
            for name, kind, about in (
                ("quantization", "string", "As in a load."),
                ("maxContextLength", "integer", "As in a load."),
                ("gpuMemoryBudgetMB", "integer", "As in a load."),
                ("evictModel", "string", "As in a load."),
            )
        ),
    ],
    errors=(
        "governance_not_configured",
        "invalid_load_request",
        "model_not_allowed",
        "model_not_downloaded",
        *HUB,
        "rate_limit_exceeded",
        "unknown_model",
        *STORAGE,
    ),
)
def plan_load_governed() -> Response:
    """Show what a load would do, without doing it

    The memory that it needs and that is free, the workers chosen, the model that is unloaded first with the
    requests that would drain, the expected duration, and in `problem` why it would be refused now. It needs
    no opToken, and counts as an attempt. `digest` covers what a proposal of this load would hold.
    """
    services = current_services()
    check_configured(services, LOAD)
    services[AttemptLimit].count(current_caller().tenant.name)
    given = request.args.to_dict()
    numbers = {name: integer_parameter(name) for name in ("maxContextLength", "gpuMemoryBudgetMB")}
    lifecycle_request = parse(LOAD, {**given, **numbers})
    return json_response(plan(services, lifecycle_request).document())


@routes.endpoint(
    "/v1/models/load/<task:id>",
    access=Access.LIFECYCLE,
    responses={200: LoadTask},
    path=_TASK,
    errors=("governance_not_configured", "not_found", *STORAGE),
)
def retrieve_load_task(id: str) -> Response:
    """Poll a load

    `status` is `loading`, then `completed`, `failed` or `cancelled`, each of the last two with the reason in
    `error`. It is stored for a day after its end. Loads of the admin API can be polled as well.
    """
    return _task(id, "load")


@routes.endpoint(
    "/v1/models/unload",
    "POST",
    access=Access.LIFECYCLE,
    body=ModelUnloadBody,
    examples={"With an opToken": approved("model-unload", modelId="stoker-demo")},
    reads_body=True,
    responses={200: UnloadTask, 202: (UnloadTask, ProposalObject)},
    headers=(PREFER,),
    errors=REFUSALS,
)
def unload_model_governed() -> Response:
    """Unload a model by an opToken

    202: the unload has begun, or was under way already; poll `GET /v1/models/unload/{taskId}`. 200 with the
    completed task: there was no engine to end; and with `Prefer: wait=N`, when the unload has ended. Waiting
    requests end with `model_unloading`, running ones may finish. A load under way is cancelled.
    """
    return _perform(UNLOAD)


@routes.endpoint(
    "/v1/models/unload/<task:id>",
    access=Access.LIFECYCLE,
    responses={200: UnloadTask},
    path=_TASK,
    errors=("governance_not_configured", "not_found", *STORAGE),
)
def retrieve_unload_task(id: str) -> Response:
    """Poll an unload

    `status` is `unloading`, then `completed`.
    """
    return _task(id, "unload")


@routes.endpoint(
    "/v1/cache/flush",
    "POST",
    access=Access.LIFECYCLE,
    body=CacheFlushBody,
    examples={"With an opToken": approved("cache-flush", scope="model", modelId="stoker-demo")},
    reads_body=True,
    responses={200: FlushTask, 202: (FlushTask, ProposalObject)},
    headers=(PREFER,),
    errors=(*REFUSALS, "invalid_flush", "too_many_flushes"),
)
def flush_cache_governed() -> Response:
    """Flush cached prefixes by an opToken

    202: the flush has begun; poll `GET /v1/cache/flush/{taskId}`. 200 with the completed task: there was no
    engine to wait for; and with `Prefer: wait=N`, when the flush has ended. Requests that come after its end
    find nothing of what was cached before; running ones keep their own.
    """
    return _perform(FLUSH)


@routes.endpoint(
    "/v1/cache/flush/<task:id>",
    access=Access.LIFECYCLE,
    responses={200: FlushTask},
    path=_TASK,
    errors=("governance_not_configured", "not_found", *STORAGE),
)
def retrieve_flush_task(id: str) -> Response:
    """Poll a flush

    `status` is `flushing`, then `completed` with what the engines counted.
    """
    return _task(id, "flush")


def _perform(operation_name: str) -> Response:
    services, caller = current_services(), current_caller()
    lifecycle_request, outcome = perform(services, caller, operation_name, request)
    if isinstance(outcome, Proposal):
        return proposed_response(outcome)
    operation = outcome.operation
    if operation is None or (operation.status.is_terminal and not outcome.begun):
        return json_response(_nothing_done(services, lifecycle_request, operation))

    def render(latest: Operation) -> Answer:
        body = _object(services, latest)
        if latest.status.is_terminal:
            return body, 200, {}
        return body, 202, {"Location": f"{PATHS[latest.kind]}/{latest.id}"}

    return answer_at_end(services, operation, caller.tenant.name, render)


def _nothing_done(
    services: AppServices, lifecycle_request: LifecycleRequest, latest: Operation | None
) -> dict[str, Any]:
    """The completed task of a model that is in the wanted state already."""
    row = services[Fleet].row(served_name(lifecycle_request.body["modelId"], services[Settings]))
    if lifecycle_request.operation == LOAD:
        return loaded_object(row.name, latest, gpu_memory_mib(services[Fleet].engines(), row.name))
    return unloaded_object(row.name, latest, is_remote=remote(row.definition))


def _task(id: str, kind: str) -> Response:
    services = current_services()
    check_configured(services)
    operation = services[Fleet].operation(id)
    if operation is None or operation.kind != kind:
        raise NotFound(f"there is no {kind} {id}", param="id")
    return json_response(_object(services, operation))


def _object(services: AppServices, operation: Operation) -> dict[str, Any]:
    definition = services[Fleet].catalogue.get(operation.model)
    return task_object(operation, is_remote=definition is not None and remote(definition))
