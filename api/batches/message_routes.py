"""/v1/messages/batches: Anthropic's Message Batches."""

from __future__ import annotations

import shutil
from typing import Any

import orjson
from flask import Response

from api.access.caller import current_caller
from api.batches.creation import create, write_lines
from api.batches.endpoints import MESSAGES_PATH
from api.batches.message_schema import (
    DeletedMessageBatch,
    MessageBatchList,
    MessageBatchObject,
    MessageBatchRequest,
)
from api.batches.objects import message_batch
from api.batches.record import MESSAGES, Progress
from api.batches.routes import cancelled_batch, new_record, own_batch
from api.batches.run import RESULTS
from api.files.file_content import FileContent
from api.files.store import FileStore
from api.http.detached import DetachedResponse
from api.http.error_codes import STORAGE
from api.http.errors import ApiError, InvalidRequest, NotFound
from api.http.http_responses import json_response
from api.http.open_streams import OpenStreams
from api.http.openapi import RouteGroup
from api.http.parameters import page_size_parameter, query_parameter, two_way_page
from api.http.route_access import Access
from api.inference.messages.schema import AnthropicError
from api.services import current_services, service
from config.limits import limits_of
from config.settings import Settings
from scheduler.batches import BatchStore

routes = RouteGroup("message_batches", __name__)

MAX_PAGE, DEFAULT_PAGE = 1000, 20
RESULTS_TYPE = "application/x-jsonl"
_ID = {"batch_id": "The batch's id."}


@routes.endpoint(
    "/v1/messages/batches",
    "POST",
    access=Access.INFERENCE,
    body=MessageBatchRequest,
    examples={
        "One question": {
            "requests": [
                {
                    "custom_id": "question-1",
                    "params": {
                        "model": "stoker-demo",
                        "max_tokens": 64,
                        "messages": [{"role": "user", "content": "What is Stoker?"}],
                    },
                }
            ]
        }
    },
    responses={200: MessageBatchObject},
    errors=("unsupported_parameter", "file_quota_exceeded", "too_many_batches", *STORAGE),
    error_body=AnthropicError,
)
def create_message_batch(body: dict[str, Any]) -> Response:
    """Create a batch of messages

    Up to 50,000 requests, within the bounds of every body. They run with the priority low; one that is wrong
    is an error in the results.
    """
    services, caller = current_services(), current_caller()
    requests: list[dict[str, Any]] = body["requests"]
    seen: set[str] = set()
    for at, line in enumerate(requests):
        if line["custom_id"] in seen:
            message = f"requests[{at}].custom_id is already used by an earlier request"
            raise InvalidRequest(message, param=f"requests[{at}].custom_id")
        seen.add(line["custom_id"])
        if line["params"].get("stream"):
            param = f"requests[{at}].params.stream"
            raise ApiError(f"{param} is not supported in a batch", code="unsupported_parameter", param=param)
    lines = [orjson.dumps({"custom_id": line["custom_id"], "params": line["params"]}) for line in requests]
    services[FileStore].check_quota(caller.tenant.name, sum(map(len, lines)) + len(lines))
    record = new_record(caller, MESSAGES_PATH, lines=len(lines))
    row = create(services, caller, MESSAGES, record, lambda path: write_lines(path, lines))
    return json_response(message_batch(row))


@routes.endpoint(
    "/v1/messages/batches",
    access=Access.INFERENCE,
    responses={200: MessageBatchList},
    query=(
        page_size_parameter("batches", DEFAULT_PAGE, MAX_PAGE),
        query_parameter("after_id", "The id of the last batch of the page before."),
        query_parameter("before_id", "The id of the first batch of the next page."),
    ),
    errors=STORAGE,
    error_body=AnthropicError,
)
def list_message_batches() -> Response:
    """List the batches of messages

    Those of the tenant of the last 31 days, the latest first.
    """
    rows = service(BatchStore).of_tenant(current_caller().tenant.name, MESSAGES)
    page, keys = two_way_page(rows, lambda row: row.id, "a batch", default=DEFAULT_PAGE, maximum=MAX_PAGE)
    del keys["object"]
    return json_response({"data": [message_batch(row) for row in page], **keys})


@routes.endpoint(
    "/v1/messages/batches/<batch_id>",
    access=Access.INFERENCE,
    responses={200: MessageBatchObject},
    path=_ID,
    errors=("not_found", *STORAGE),
    error_body=AnthropicError,
)
def retrieve_message_batch(batch_id: str) -> Response:
    """Fetch a batch of messages

    Its status, counts and times.
    """
    return json_response(message_batch(own_batch(batch_id, MESSAGES)))


@routes.endpoint(
    "/v1/messages/batches/<batch_id>/cancel",
    "POST",
    access=Access.INFERENCE,
    responses={200: MessageBatchObject},
    path=_ID,
    errors=("not_found", *STORAGE),
    error_body=AnthropicError,
)
def cancel_message_batch(batch_id: str) -> Response:
    """Cancel a batch of messages

    What runs is cancelled, and no further request begins. The results so far are kept.
    """
    return json_response(message_batch(cancelled_batch(batch_id, MESSAGES)))


@routes.endpoint(
    "/v1/messages/batches/<batch_id>/results",
    access=Access.INFERENCE,
    responses={200: None},
    rows=RESULTS_TYPE,
    path=_ID,
    errors=("not_found", "batch_not_ended", "server_busy", "too_many_streams", *STORAGE),
    error_body=AnthropicError,
)
def retrieve_message_batch_results(batch_id: str) -> Response:
    """Fetch the results of a batch of messages

    A line of JSON for each request, in the order in which they ended.
    """
    services, row = current_services(), own_batch(batch_id, MESSAGES)
    if not Progress.from_json(row.progress).has_ended:
        raise not_ended()
    limits = limits_of(current_caller().tenant, services[Settings])
    path = services[FileStore].folder(row.tenant) / row.id / RESULTS
    if not path.is_file():
        raise NotFound("the results of this batch no longer exist", param="batch_id")
    content = FileContent(lambda: path.open("rb"), RESULTS_TYPE)
    streams = services[OpenStreams]
    return DetachedResponse(lambda connection: content.serve(streams, row.tenant, limits, connection))


@routes.endpoint(
    "/v1/messages/batches/<batch_id>",
    "DELETE",
    access=Access.INFERENCE,
    responses={200: DeletedMessageBatch},
    path=_ID,
    errors=("not_found", "batch_not_ended", *STORAGE),
    error_body=AnthropicError,
)
def delete_message_batch(batch_id: str) -> Response:
    """Delete a batch of messages

    With its results; it has to have ended.
    """
    services, row = current_services(), own_batch(batch_id, MESSAGES)
    if services[BatchStore].delete(row.id, row.tenant) == "active":
        raise not_ended()
    shutil.rmtree(services[FileStore].folder(row.tenant) / row.id, ignore_errors=True)
    return json_response({"id": row.id, "type": "message_batch_deleted"})


def not_ended() -> ApiError:
    """The error for what only a batch that has ended has."""
    return ApiError(
        "this batch has not ended: cancel it first, or wait until it ends",
        code="batch_not_ended",
        param="batch_id",
    )
