"""/v1/admin/requests: the requests that have ended or were refused lately; texts by a route of their own."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from flask import Response, request

from api.access.authority import authority_of
from api.access.caller import current_caller
from api.http.answers import send_json
from api.http.client_facts import KEPT_HEADERS
from api.http.detached import DetachedResponse
from api.http.error_codes import STORAGE
from api.http.errors import CODES, InvalidRequest, NotFound
from api.http.openapi import RouteGroup
from api.http.parameters import (
    TIME_FORMS,
    choice_parameter,
    chosen,
    integer_parameter,
    page_size_parameter,
    query_parameter,
    time_parameter,
)
from api.http.route_access import Access
from api.http.server.client_connection import ClientConnection
from api.operations.requests_schema import RequestList, RequestObject, RequestTextsObject
from api.services import current_services
from config.tenant_schema import TENANT_NAME
from governance.audit import AuditLog
from scheduler.ledger import AsyncLedger
from scheduler.request_history import STATUSES, RecordCursor, RecordFilter, RequestRecord

routes = RouteGroup("requests", __name__)

MAX_REQUESTS = 200
DEFAULT_REQUESTS = 50
MAX_READS = 10
"""One request reads Redis at most so often: each time `MAX_READ` records are looked at."""

_CURSOR = re.compile(r"(\d{1,16})\.([\x21-\x7e]{1,200})")
_WORD = re.compile(r"[\x21-\x7e]{1,200}")

_QUERY = (
    query_parameter("tenant", "Only the requests of this tenant."),
    query_parameter("model", "Only those for this model."),
    choice_parameter("status", "Only those that ended like this.", STATUSES),
    query_parameter("code", "Only those with this error code."),
    query_parameter("since", f"Only those that ended from this time on. {TIME_FORMS}"),
    query_parameter("until", f"Only those that ended before this time. {TIME_FORMS}"),
    page_size_parameter("requests", DEFAULT_REQUESTS, MAX_REQUESTS),
    query_parameter("after", "The `next_after` of the page before.", maxLength=256),
)


@routes.endpoint(
    "/v1/admin/requests",
    access=Access.READ,
    responses={200: RequestList},
    blocking=False,
    query=_QUERY,
    errors=STORAGE,
)
def list_requests() -> Response:
    """List the requests that have ended or were refused

    The latest end first; for a week, and at most 5,000 of a tenant, unless the settings `history` differ. A
    page may have fewer requests than `limit`, or none, and another one follow (`has_more`): 2,000 are looked
    at for one. A request is listed about a second after its end.
    """
    services, cursor = current_services(), _cursor()
    limit = integer_parameter("limit", MAX_REQUESTS, minimum=1) or DEFAULT_REQUESTS
    since, until = time_parameter("since"), time_parameter("until")
    wanted = RecordFilter(
        _word("tenant", re.compile(TENANT_NAME)),
        _word("model"),
        chosen("status", STATUSES),
        _word("code"),
        None if since is None else int(since * 1e6),
        None if until is None else int(until * 1e6) - 1,
    )

    async def serve(connection: ClientConnection) -> None:
        records, place = await _read_page(services[AsyncLedger], wanted, cursor, limit)
        following = None if place is None else f"{place.ended_us}.{place.id}"
        data = [_serialize(record) for record in records]
        keys = {"has_more": following is not None, "next_after": following}
        send_json(connection, {"object": "list", "data": data, **keys})

    return DetachedResponse(serve)


@routes.endpoint(
    "/v1/admin/requests/<id>",
    access=Access.READ,
    responses={200: RequestObject},
    blocking=False,
    path={"id": "The response's id; of a refused request its `x-request-id`."},
    errors=("not_found", *STORAGE),
)
def retrieve_request(id: str) -> Response:
    """Show a request that has ended or was refused

    With its times, tokens and headers; without its prompt and its answer.
    """
    services = current_services()

    async def serve(connection: ClientConnection) -> None:
        record = await services[AsyncLedger].read_request(id)
        if record is None:
            raise NotFound(f"the history has no request {id}", param="id")
        send_json(connection, _serialize(record))

    return DetachedResponse(serve)


@routes.endpoint(
    "/v1/admin/requests/<id>/texts",
    access=Access.ADMIN,
    responses={200: RequestTextsObject},
    blocking=False,
    path={"id": "The response's id."},
    errors=("not_found", *STORAGE),
)
def retrieve_request_texts(id: str) -> Response:
    """Read the prompt and the answer of a request

    Of tenants with `keep_texts` only. The audit names the reader and the request before the texts are sent:
    without that record they are not.
    """
    services = current_services()
    authority = authority_of(current_caller())

    async def serve(connection: ClientConnection) -> None:
        texts = await services[AsyncLedger].read_texts(id)
        if texts is None:
            raise NotFound(f"the history has no texts of a request {id}", param="id")
        event = authority.event("read_texts", id, "done", {"tenant": texts.record.tenant})
        await asyncio.to_thread(services[AuditLog].record, event)
        texts_of = {name: getattr(texts, name) for name in ("prompt", "answer")}
        answer = {name: {"text": one.text, "isCut": one.is_cut} for name, one in texts_of.items()}
        send_json(connection, {"id": id, "object": "request.texts", **answer})

    return DetachedResponse(serve)


async def _read_page(
    ledger: AsyncLedger, wanted: RecordFilter, cursor: RecordCursor | None, most: int
) -> tuple[list[RequestRecord], RecordCursor | None]:
    """The records of a page, and where the next one begins. Between the calls Redis serves others."""
    records: list[RequestRecord] = []
    for _ in range(MAX_READS):
        page = await ledger.list_requests(wanted, cursor, most - len(records))
        records += page.records
        cursor = page.following
        if cursor is None or len(records) == most:
            break
    return records, cursor


def _word(name: str, form: re.Pattern[str] = _WORD) -> str | None:
    value = request.args.get(name)
    if value is not None and not form.fullmatch(value):
        raise InvalidRequest(f"{name} must match {form.pattern}", param=name)
    return value


def _cursor() -> RecordCursor | None:
    after = request.args.get("after")
    if after is None:
        return None
    found = _CURSOR.fullmatch(after)
    if found is None:
        raise InvalidRequest("after must be the next_after of a page", param="after")
    return RecordCursor(int(found[1]), found[2])


def _serialize(record: RequestRecord) -> dict[str, Any]:
    begin, dispatched, end = record.admitted_at, record.dispatched_at, record.ended_at
    return {
        "id": record.id,
        "object": "request",
        "tenant": record.tenant,
        "model": record.model,
        "api": record.dialect,
        "priority": record.priority,
        "status": record.status,
        "code": record.code,
        "httpStatus": _http_status(record),
        "finishReason": record.finish_reason,
        "createdAt": begin,
        "dispatchedAt": dispatched,
        "endedAt": end,
        "totalMs": _between_ms(begin, end),
        "waitedMs": _between_ms(begin, dispatched or end),
        "loadMs": record.load_ms,
        "firstTokenMs": record.first_ms,
        "runMs": _between_ms(dispatched, end),
        "dispatches": record.dispatches,
        "worker": record.worker,
        "replica": record.replica,
        "movedFrom": record.moved_from,
        "tokens": _serialize_tokens(record),
        "client": {name: record.client[name] for name in _CLIENT if name in record.client},
    }


_CLIENT = ("requestId", "path", "key", "hasIdempotencyKey", *KEPT_HEADERS)


def _between_ms(begin: float | None, end: float) -> int | None:
    return None if begin is None else max(0, round((end - begin) * 1000))


def _http_status(record: RequestRecord) -> int | None:
    if record.code is None:
        return 200 if record.status in ("completed", "incomplete") else None
    return CODES[record.code].status if record.code in CODES else None


def _serialize_tokens(record: RequestRecord) -> dict[str, int] | None:
    if not record.usage:
        return None
    names = {
        "input": "input_tokens",
        "output": "output_tokens",
        "cached": "cached_tokens",
        "reasoning": "reasoning_tokens",
        "audioMs": "audio_ms",
        "images": "images",
    }
    return {name: int(record.usage.get(field) or 0) for name, field in names.items()}
