"""/v1/batches: OpenAI's Batch API."""

from __future__ import annotations

import time
from typing import Any

from flask import Response, request

from api.auth.access import Access
from api.auth.caller import Caller, current_caller
from api.batches.creation import create
from api.batches.objects import openai_batch
from api.batches.record import OPENAI, WINDOW_S, BatchRecord, is_batch_id
from api.errors import InvalidRequest, NotFound
from api.http_responses import json_response
from api.openapi import RouteGroup
from api.routes.error_codes import STORAGE
from api.routes.parameters import AFTER, integer_parameter
from api.schemas.batches import BatchList, BatchObject, BatchRequest
from api.services import current_services
from scheduler.batches import BatchRow

routes = RouteGroup("batches", __name__, description="OpenAI's Batches.")

MAX_PAGE = 100
_ID = {"batch_id": "The batch's id."}
_LIMIT = {
    "name": "limit",
    "in": "query",
    "description": "The most batches of the page; 20 unless set.",
    "schema": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE},
}


@routes.endpoint(
    "/v1/batches",
    "POST",
    access=Access.INFERENCE,
    body=BatchRequest,
    responses={200: BatchObject},
    errors=("too_many_batches", *STORAGE),
)
def create_batch(body: dict[str, Any]) -> Response:
    """Create a batch

    Its lines are requests of one endpoint, in a file of the purpose `batch`. They run with the priority low,
    and their results come as files.
    """
    services, caller = current_services(), current_caller()
    tenant, file_id = caller.tenant.name, body["input_file_id"]
    try:
        file = services.files.get(tenant, file_id)
    except NotFound:
        raise InvalidRequest("input_file_id is not the id of a file", param="input_file_id") from None
    if file.purpose != "batch":
        raise InvalidRequest("input_file_id must be a file of the purpose `batch`", param="input_file_id")
    output = body.get("output_expires_after")
    record = new_record(
        caller,
        body["endpoint"],
        input_file_id=file_id,
        metadata=body.get("metadata"),
        output_lifetime_s=output and output["seconds"],
    )
    row = create(services, caller, OPENAI, record, lambda path: services.files.link(tenant, file_id, path))
    return json_response(openai_batch(row))


@routes.endpoint(
    "/v1/batches",
    access=Access.INFERENCE,
    responses={200: BatchList},
    query=(_LIMIT, AFTER),
    errors=STORAGE,
)
def list_batches() -> Response:
    """List the batches

    Those of the tenant of the last 31 days, the latest first.
    """
    limit = integer_parameter("limit", MAX_PAGE)
    if limit == 0:
        raise InvalidRequest("limit must be at least 1", param="limit")
    rows = current_services().batches.of_tenant(current_caller().tenant.name, OPENAI)
    after = request.args.get("after")
    if after:
        place = next((at for at, row in enumerate(rows) if row.id == after), None)
        if place is None:
            raise InvalidRequest("after must be the id of a batch", param="after")
        rows = rows[place + 1 :]
    page = rows[: limit or 20]
    ids: list[str | None] = [row.id for row in page] or [None]
    return json_response(
        {
            "object": "list",
            "data": [openai_batch(row) for row in page],
            "first_id": ids[0],
            "last_id": ids[-1],
            "has_more": len(page) < len(rows),
        }
    )


@routes.endpoint(
    "/v1/batches/<batch_id>",
    access=Access.INFERENCE,
    responses={200: BatchObject},
    path=_ID,
    errors=("not_found", *STORAGE),
)
def retrieve_batch(batch_id: str) -> Response:
    """Fetch a batch

    Its status, counts and times, and the ids of the files with its results once it has ended.
    """
    return json_response(openai_batch(own_batch(batch_id, OPENAI)))


@routes.endpoint(
    "/v1/batches/<batch_id>/cancel",
    "POST",
    access=Access.INFERENCE,
    responses={200: BatchObject},
    path=_ID,
    errors=("not_found", *STORAGE),
)
def cancel_batch(batch_id: str) -> Response:
    """Cancel a batch

    What runs is cancelled, and no further line begins. The results so far are kept. A batch that has ended
    stays as it is.
    """
    return json_response(openai_batch(cancelled_batch(batch_id, OPENAI)))


def new_record(caller: Caller, endpoint: str, **fields: Any) -> BatchRecord:
    """The record of a batch that begins now."""
    now = int(time.time())
    key = caller.key.digest
    return BatchRecord(endpoint, now, now + WINDOW_S, key, caller.unknown_name, **fields)


def own_batch(id: str, kind: str) -> BatchRow:
    """A batch of the caller. Raises `NotFound`, also for another tenant's batch."""
    row = current_services().batches.get(id) if is_batch_id(id) else None
    if row is None or row.tenant != current_caller().tenant.name or row.kind != kind:
        raise NotFound("there is no such batch", param="batch_id")
    return row


def cancelled_batch(id: str, kind: str) -> BatchRow:
    """A batch of the caller, which is being cancelled if it has not ended. Raises `NotFound`."""
    row, services = own_batch(id, kind), current_services()
    services.batches.cancel(id, row.tenant)
    services.on_new_batch()
    return own_batch(id, kind)
