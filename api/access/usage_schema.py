"""The response body of GET /v1/admin/usage."""

from __future__ import annotations

import marshmallow
from marshmallow import fields


class UsageTotals(marshmallow.Schema):
    """What ended requests used."""

    requests = fields.Integer(required=True, metadata={"description": "All that ended."})
    succeeded = fields.Integer(required=True, metadata={"description": "Those with an answer."})
    input_tokens = fields.Integer(required=True)
    cached_tokens = fields.Integer(
        required=True, metadata={"description": "The part of the input tokens that came from a prefix cache."}
    )
    output_tokens = fields.Integer(required=True)
    queue_ms = fields.Integer(required=True, metadata={"description": "The time in queues."})
    gpu_ms = fields.Integer(
        required=True,
        metadata={
            "description": "The time in slots. Requests that an engine batches share the GPU meanwhile, so "
            "the sum may be more than the time of the GPU."
        },
    )
    audio_seconds = fields.Float(
        required=True, metadata={"description": "Seconds of audio that were transcribed or made."}
    )
    images = fields.Integer(required=True, metadata={"description": "The images that were made."})
    pixel_steps = fields.Integer(
        required=True, metadata={"description": "Their computed pixels: width x height x steps."}
    )


class UsageRow(UsageTotals):
    """The usage of one tenant and model on one day."""

    day = fields.Date(required=True, metadata={"description": "UTC."})
    tenant = fields.String(required=True)
    model = fields.String(required=True)


class UsageReport(marshmallow.Schema):
    """The usage by day, tenant and model."""

    object = fields.Constant("usage")
    first_day = fields.Date(required=True)
    last_day = fields.Date(required=True)
    data = fields.List(fields.Nested(UsageRow), required=True)
    totals = fields.Nested(UsageTotals, required=True)
