"""/v1/responses?status=in_progress, /v1/responses/{id}/detach: the requests of a tenant that wait and run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask import Response

from api.access.caller import Caller, current_caller
from api.http.answers import send_json
from api.http.detached import DetachedResponse
from api.http.error_codes import STORAGE
from api.http.errors import NotFound
from api.http.openapi import RouteGroup
from api.http.parameters import chosen, integer_parameter, page_size_parameter
from api.http.route_access import Access
from api.http.server.client_connection import ClientConnection
from api.http.server.while_connected import while_connected
from api.inference.answer.large_reads import LogReads
from api.inference.job_pages import AFTER, place_parameter, read_page
from api.inference.resumable.running_request import RunningRequest, RunningRequests, running_request
from api.services import AppServices, current_services
from fleet.fleet import Fleet
from scheduler.job import JobRow
from scheduler.ledger import AsyncLedger

DEFAULT_REQUESTS, MAX_REQUESTS = 20, 100
STATUSES = ["in_progress"]
STATUS = {
    "name": "status",
    "in": "query",
    "description": "`in_progress`: those that wait and run. Ended responses are not listed.",
    "schema": {"type": "string", "enum": STATUSES},
}

routes = RouteGroup("running_requests", __name__)


@routes.endpoint(
    "/v1/responses",
    access=Access.INFERENCE,
    responses={200: RunningRequests},
    blocking=False,
    query=(STATUS, page_size_parameter("requests", DEFAULT_REQUESTS, MAX_REQUESTS), AFTER),
    errors=("server_busy", "too_many_streams", *STORAGE),
)
def list_running() -> Response:
    """List the requests that wait and run

    Those of the caller's tenant, of a person its own, of all APIs, without their prompts and answers. A page
    may have fewer rows than `limit`, or none, and another one follow (`has_more`).
    """
    services, tenant = current_services(), current_caller().tenant.name
    person = current_caller().person_id
    chosen("status", STATUSES)
    limit, place = integer_parameter("limit", MAX_REQUESTS, minimum=1), place_parameter()

    async def load_page() -> dict[str, Any]:
        async with services[LogReads].hold(tenant):
            models, ledger = sorted(services[Fleet].catalogue.models), services[AsyncLedger]
            page = await read_page(ledger, models, tenant, None, place, limit or DEFAULT_REQUESTS)
            rows = await ledger.lookup_many([job.id for _, job in page.jobs], tenant, person)
        data = [running_request(row) for row in rows if row is not None and not row.status.is_terminal]
        following = None if page.following is None else str(page.following)
        return {"object": "list", "data": data, "has_more": following is not None, "next_after": following}

    async def send_answer(connection: ClientConnection) -> None:
        send_json(connection, await while_connected(connection, load_page()))

    return DetachedResponse(send_answer)


@routes.endpoint(
    "/v1/responses/<id>/detach",
    "POST",
    access=Access.INFERENCE,
    responses={200: RunningRequest},
    blocking=False,
    path={"id": "The id of the answer, of any API."},
    errors=("not_found", *STORAGE),
)
def detach_request(id: str) -> Response:
    """Detach a request

    It goes on when its client disconnects. One that has ended stays as it is.
    """
    services, caller = current_services(), current_caller()

    async def send_answer(connection: ClientConnection) -> None:
        send_json(connection, running_request(await _detached(services, id, caller)))

    return DetachedResponse(send_answer)


async def _detached(services: AppServices, id: str, caller: Caller) -> JobRow:
    ledger, tenant = services[AsyncLedger], caller.tenant.name
    row = await ledger.lookup(id, tenant, caller.person_id)
    status = None if row is None else await ledger.detach(id, tenant)
    if row is None or status is None:
        raise NotFound(f"there is no response {id}", param="id")
    return replace(row, status=status)
