"""The response body of GET /v1/admin/models/{name}/log."""

from __future__ import annotations

import marshmallow
from marshmallow import fields


class EngineLogLine(marshmallow.Schema):
    """A line that an engine printed, or a remark that output was left out."""

    id = fields.String(required=True)
    at = fields.Float(required=True, metadata={"description": "When it came, in unix seconds."})
    replica = fields.String(required=True)
    worker = fields.String(required=True)
    operation_id = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "The load that started the replica; null if the platform replaced one."},
    )
    text = fields.String(
        required=True,
        metadata={
            "description": "Without colours and control characters; cut at 1,000 bytes. Secrets are hidden."
        },
    )
    omitted_bytes = fields.Integer(
        required=True,
        metadata={
            "description": "Unless 0, so many bytes of output were left out here, and `text` is empty."
        },
    )


class EngineLog(marshmallow.Schema):
    """A part of the log of a model's engines, the oldest line first."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    data = fields.List(fields.Nested(EngineLogLine), required=True)
    has_more = fields.Boolean(required=True)
    has_gap = fields.Boolean(
        required=True,
        metadata={"description": "Lines after `after` may have been removed before this request."},
    )
    first_id = fields.String(required=True, allow_none=True)
    last_id = fields.String(
        required=True,
        allow_none=True,
        metadata={
            "description": "The next `after`: the last line that was looked at, also if `data` is empty."
        },
    )
