"""A request that waits or runs, of any API, as its tenant sees it."""

from __future__ import annotations

from typing import Any

import marshmallow
from marshmallow import fields

from scheduler.job import JobRow, Status


class RunningRequest(marshmallow.Schema):
    """A request that waits or runs; no prompt and no answer."""

    id = fields.String(required=True, metadata={"description": "The id of its answer."})
    object = fields.String(required=True, metadata={"enum": ["response"]})
    api = fields.String(required=True, metadata={"description": "The API that it came by, such as `chat`."})
    model = fields.String(required=True)
    status = fields.String(
        required=True,
        metadata={"enum": ["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]},
    )
    created_at = fields.Integer(required=True, metadata={"description": "Unix seconds."})
    conversation_id = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "The id by which `/v1/stream` reads its bytes again; null if it has none."},
    )


class RunningRequests(marshmallow.Schema):
    """A page of them."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    data = fields.List(fields.Nested(RunningRequest), required=True)
    has_more = fields.Boolean(required=True)
    next_after = fields.String(
        required=True, allow_none=True, metadata={"description": "`after` of the next page."}
    )


def running_request(row: JobRow) -> dict[str, Any]:
    """The object of `RunningRequest`."""
    return {
        "id": row.id,
        "object": "response",
        "api": row.dialect,
        "model": row.model,
        "status": "in_progress" if row.status is Status.RUNNING else str(row.status),
        "created_at": int(row.created_at),
        "conversation_id": row.conversation,
    }
