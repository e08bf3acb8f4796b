"""The error envelope (OpenAI API reference, "Error codes")."""

from __future__ import annotations

import marshmallow
from marshmallow import fields


class ErrorDetails(marshmallow.Schema):
    """What went wrong."""

    class Meta:
        """Some codes say more (`queueDepth` and `avgWaitMs` of queue_full)."""

        unknown = marshmallow.INCLUDE

    message = fields.String(required=True, metadata={"description": "For people."})
    type = fields.String(required=True, metadata={"description": "The family, in OpenAI's words."})
    param = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "Where in the request, such as `input[3].type`."},
    )
    code = fields.String(required=True, metadata={"description": "Stable and machine-readable."})


class ErrorBody(marshmallow.Schema):
    """An error."""

    error = fields.Nested(ErrorDetails, required=True)
