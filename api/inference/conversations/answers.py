"""The items that a response which has ended leaves in its conversation, with what is known of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from api.http.errors import error_from_end
from api.inference.conversations.items import output_items
from api.inference.conversations.record import Turn
from api.inference.dialects.base import ResponseMetadata
from api.inference.dialects.measurements import measurements
from api.inference.responses import dialect as responses
from scheduler.job import Status
from streams.events import End, Event

Json = dict[str, Any]


def answer_items(
    metadata: ResponseMetadata, status: Status, events: Iterable[Event], end: End | None, turn: Turn
) -> list[Json]:
    """The output as items, the last of which has the status, the usage and the error of the response.

    Without any output it is a message without content. The first message continues the turn's place, if the
    turn does. `end` is None where the log of the response is lost.
    """
    response = responses.response_object(metadata, events)
    items = output_items(response) or [_no_message(metadata)]
    known = {
        "response_id": metadata.id,
        "model": metadata.model,
        "created_at": metadata.created_at,
    }
    items = [{**item, **known} for item in items]
    message = next((item for item in items if item["type"] == "message"), None)
    if turn.continues and message is not None:
        message["continues"] = turn.place
    failed = end is not None and status is Status.FAILED
    items[-1] |= {
        "response_status": str(status),
        "usage": response["usage"],
        "error": _error(end) if end is not None and failed else None,
        **(measurements(end) if end is not None else {}),
        **({"metadata": response["metadata"]} if response["metadata"] else {}),
    }
    return items


def _error(end: End) -> Json:
    error = error_from_end(end)
    return {"code": error.code, "message": str(error)}


def _no_message(metadata: ResponseMetadata) -> Json:
    return {
        "id": f"msg_{metadata.id.partition('_')[2]}000",
        "type": "message",
        "status": "incomplete",
        "role": "assistant",
        "content": [],
    }
