"""/v1/batches: OpenAI's Batch API."""

from __future__ import annotations

import time
from operator import attrgetter
from typing import Any

from flask import Response

from api.access.caller import Caller, current_caller
from api.batches.creation import create
from api.batches.leader import BatchLeader
from api.batches.objects import openai_batch
from api.batches.record import OPENAI, WINDOW_S, BatchRecord, is_batch_id
from api.batches.schema import BatchList, BatchObject, BatchRequest
from api.files.store import FileStore
from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest, NotFound
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import AFTER, page_request, page_size_parameter
from api.http.route_access import Access
from api.services import current_services, service
from scheduler.batches import BatchRow, BatchStore

routes = RouteGroup("batches", __name__)

MAX_PAGE, DEFAULT_PAGE = 100, 20
_ID = {"batch_id": "The batch's id."}


@routes.endpoint(
    "/v1/batches",
    "POST",
    access=Access.INFERENCE,
    body=BatchRequest,
    examples={
        "Chat completions": {
            "input_file_id": "file-0123456789abcdef",
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
        }
    },
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
        file = services[FileStore].get(tenant, file_id)
    except NotFound:
        raise InvalidRequest("input_file_id is not the id of a file", param="input_file_id") from None
    if file.purpose != "batch":
        raise InvalidRequest("input_file_id must be a file with the purpose `batch`", param="input_file_id")
    output = body.get("output_expires_after")
    record = new_record(
        caller,
        body["endpoint"],
        input_file_id=file_id,
        metadata=body.get("metadata"),
        output_lifetime_s=output and output["seconds"],
    )
    row = create(
        services, caller, OPENAI, record, lambda path: services[FileStore].save_to(tenant, file_id, path)
    )
    return json_response(openai_batch(row))


@routes.endpoint(
    "/v1/batches",
    access=Access.INFERENCE,
    responses={200: BatchList},
    query=(page_size_parameter("batches", DEFAULT_PAGE, MAX_PAGE), AFTER),
    errors=STORAGE,
)
def list_batches() -> Response:
    """List the batches

    Those of the tenant of the last 31 days, the latest first.
    """
    rows = service(BatchStore).of_tenant(current_caller().tenant.name, OPENAI)
    page, keys = page_request(DEFAULT_PAGE, MAX_PAGE).of(rows, attrgetter("id"), "a batch")
    return json_response({"data": [openai_batch(row) for row in page], **keys})


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
    row = service(BatchStore).get(id) if is_batch_id(id) else None
    if row is None or row.tenant != current_caller().tenant.name or row.kind != kind:
        raise NotFound("there is no such batch", param="batch_id")
    return row


def cancelled_batch(id: str, kind: str) -> BatchRow:
    """A batch of the caller, which is being cancelled if it has not ended. Raises `NotFound`."""
    row, services = own_batch(id, kind), current_services()
    services[BatchStore].cancel(id, row.tenant)
    services[BatchLeader].wake()
    return own_batch(id, kind)
