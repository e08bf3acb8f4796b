"""/v1/queue and /v1/admin/queue: where requests stand, who waits, and the operator's cancels."""

from __future__ import annotations

import logging
import re
import time
from typing import Any

from flask import Response, request

from api.access.authority import authority_of
from api.access.caller import current_caller
from api.http.answers import send_json
from api.http.detached import DetachedResponse
from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest, NotFound
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import boolean_parameter, query_parameter
from api.http.route_access import Access
from api.http.server.client_connection import ClientConnection
from api.inference.queue_orders import QueueOrders
from api.operations.queues_schema import CancelledRequest, CancelledTenant, QueueListing, QueuePlace
from api.services import current_services, service
from config.settings import PRIORITIES, Settings
from config.tenant_schema import TENANT_NAME
from fleet.fleet import Fleet
from governance.audit import AuditLog
from scheduler.job import JobRow, Status
from scheduler.ledger import AsyncLedger, Ledger
from scheduler.queue_view import ModelQueue, Place, QueueOrder, TenantQueue
from store.errors import StokerError

logger = logging.getLogger("api")

routes = RouteGroup("queues", __name__)

_ID = {"id": "The response's id."}
_MODEL = query_parameter("model", "Only this model.")
_TENANT = query_parameter("tenant", "Whose requests.")
_RUNNING = query_parameter("running", "Stop the running requests, too.", type="boolean")


@routes.endpoint(
    "/v1/queue/<id>",
    access=Access.INFERENCE,
    responses={200: QueuePlace},
    blocking=False,
    path=_ID,
    errors=("not_found", *STORAGE),
)
def retrieve_queue_place(id: str) -> Response:
    """Show where a request stands

    Its place by fair share as it stands, the estimated wait, and what it waits for. For requests that run in
    the background; a stream says the same in comments while it waits.
    """
    services, caller = current_services(), current_caller()
    tenant = caller.tenant.name

    async def serve(connection: ClientConnection) -> None:
        row = _found(id, await services[AsyncLedger].lookup(id, tenant, caller.person_id))
        order, place = None, None
        if row.status is Status.QUEUED:
            order, places = await services[QueueOrders].places(row.model, [id])
            place = places.get(id)
            if place is None:  # it has left the queue in between; the person was checked above
                row = _found(id, await services[AsyncLedger].lookup(id, tenant))
        send_json(connection, _serialize_place(row, order, place))

    return DetachedResponse(serve)


def _found(id: str, row: JobRow | None) -> JobRow:
    if row is None:
        raise NotFound(f"there is no response {id}", param="id")
    return row


def _serialize_place(row: JobRow, order: QueueOrder | None, place: Place | None) -> dict[str, Any]:
    identity = {"id": row.id, "object": "queue.place", "model": row.model, "status": str(row.status)}
    waits: dict[str, Any] = dict.fromkeys(
        ("position", "positionIsEstimate", "queueDepth", "waitedMs", "estimatedWaitMs", "reason")
    )
    if order is not None and place is not None:
        waits = {
            "position": place.position,
            "positionIsEstimate": place.is_estimate,
            "queueDepth": max(order.depth, place.position),
            "waitedMs": _waited_ms(row.created_at),
            "estimatedWaitMs": place.wait_ms,
            "reason": order.reason,
        }
    return identity | waits


def _waited_ms(since: float | None) -> int | None:
    """The milliseconds since a time of Redis, whose clock may be ahead of this machine's."""
    return None if since is None else max(0, int((time.time() - since) * 1000))


@routes.endpoint(
    "/v1/admin/queue",
    access=Access.READ,
    responses={200: QueueListing},
    query=(_MODEL,),
    errors=("unknown_model", *STORAGE),
)
def list_queues() -> Response:
    """List who waits

    What waits and runs of each model, by tenant.
    """
    services = current_services()
    limit = services[Settings].queue.max_depth
    return json_response(
        {"models": [_serialize_queue(services[Ledger].queue_listing(name), limit) for name in _models()]}
    )


def _serialize_queue(queue: ModelQueue, limit: int) -> dict[str, Any]:
    return {
        "model": queue.model,
        "queueDepth": queue.depth,
        "maxDepth": limit,
        "oldestWaitMs": _waited_ms(queue.oldest_at),
        "slots": queue.slots,
        "running": queue.running,
        "tenants": [_serialize_tenant(tenant) for tenant in queue.tenants],
    }


def _serialize_tenant(tenant: TenantQueue) -> dict[str, Any]:
    return {
        "tenant": tenant.tenant,
        "queueDepth": tenant.depth,
        "byPriority": {priority: tenant.depths.get(priority, 0) for priority in PRIORITIES},
        "running": tenant.running,
        "oldestWaitMs": _waited_ms(tenant.oldest_at),
        "oldestId": tenant.oldest_id,
    }


@routes.endpoint(
    "/v1/admin/queue/<id>",
    "DELETE",
    access=Access.OPERATE,
    responses={200: CancelledRequest},
    path=_ID,
    errors=("not_found", *STORAGE),
)
def cancel_request(id: str) -> Response:
    """Cancel a request of any tenant

    A waiting request ends at once. A running one is asked to stop; its status is `running` until it has. One
    that has ended stays as it is.
    """
    ledger = service(Ledger)
    tenant = ledger.owner(id)
    status = None if tenant is None else ledger.cancel(id, tenant)
    if tenant is None or status is None:
        raise NotFound(f"there is no response {id}", param="id")
    _audit(id, {"tenant": tenant, "status": str(status)})
    return json_response({"id": id, "tenant": tenant, "status": str(status)})


@routes.endpoint(
    "/v1/admin/queue",
    "DELETE",
    access=Access.OPERATE,
    responses={200: CancelledTenant},
    query=({**_TENANT, "required": True, "example": "acme"}, _MODEL, _RUNNING),
    errors=("unknown_model", *STORAGE),
)
def cancel_tenants_requests() -> Response:
    """Cancel all requests of a tenant that wait

    Of one model or of all; with `running=true` those that run are asked to stop, too. About 100 waiting
    requests of a model end at once, and the others within seconds. Requests that come later are not affected.
    """
    tenant, running = request.args.get("tenant", ""), boolean_parameter("running")
    if not re.fullmatch(TENANT_NAME, tenant):
        raise InvalidRequest(f"tenant must match {TENANT_NAME}", param="tenant")
    ledger, models = service(Ledger), _models()
    done = [ledger.cancel_tenant(tenant, name, running=running) for name in models]
    counts = {
        "cancelled": sum(one.waiting for one in done),
        "left": sum(one.left for one in done),
        "stopping": sum(one.running for one in done),
    }
    for name, one in zip(models, done, strict=True):
        if one.waiting or one.left or one.running:
            _audit(name, {"tenant": tenant, "waiting": one.waiting + one.left, "running": one.running})
    return json_response({"tenant": tenant, "models": models, **counts})


def _models() -> list[str]:
    """The model that the query names, else all. Raises `UnknownModel`."""
    fleet, name = service(Fleet), request.args.get("model")
    return list(fleet.catalogue.models) if name is None else [fleet.definition(name).name]


def _audit(subject: str, detail: dict[str, Any]) -> None:
    services = current_services()
    try:
        services[AuditLog].record(authority_of(current_caller()).event("cancel", subject, "done", detail))
    except StokerError:
        # the cancel has happened; an error response would only hide it
        logger.exception("the cancel of %s is missing from the audit chain", subject)
