"""The error envelope (OpenAI API reference, "Error codes")."""

from __future__ import annotations

import marshmallow
from marshmallow import fields


class ErrorDetails(marshmallow.Schema):
    """The details of an error."""

    class Meta:
        """Some errors have further fields: `queueDepth` and `avgWaitMs`, or `to` and `admin` of a sign-in."""

        unknown = marshmallow.INCLUDE

    message = fields.String(required=True, metadata={"description": "For humans."})
    type = fields.String(required=True, metadata={"description": "OpenAI's error type."})
    param = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "The path in the request, such as `input[3].type`."},
    )
    code = fields.String(required=True, metadata={"description": "Stable and machine-readable."})


class ErrorBody(marshmallow.Schema):
    """An error."""

    error = fields.Nested(ErrorDetails, required=True)
