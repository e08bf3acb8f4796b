"""The body of `GET /v1/admin/metrics/recent`."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.answer_fields import nullable


class MetricSample(marshmallow.Schema):
    """A sample. Rates are per second since the sample before, and null after a gap."""

    at = fields.Float(required=True, metadata={"description": "Unix seconds, by the clock of Redis."})
    running = fields.Float(
        **nullable(
            "Running requests at this time; of samples each 10 minutes the mean. Null for a model or tenant "
            "after a gap."
        )
    )
    waiting = fields.Float(**nullable("Waiting requests, likewise."))
    memory_used_mib = fields.Integer(
        **nullable(
            "Of all GPUs; of the machines if there is no GPU. Of a model what its loads took, null if that "
            "could not be measured; null for a tenant."
        )
    )
    memory_total_mib = fields.Integer(
        required=True, metadata={"description": "Of the whole platform, also for a model or tenant."}
    )
    gpu_utilization = fields.Float(
        **nullable(
            "The mean share of the time in which the GPUs computed, 0 to 1; null if none reports it. Of a "
            "model that of the GPUs of its workers; null for a tenant."
        )
    )
    input_tokens_per_s = fields.Float(
        **nullable("Tokens of prompts that were computed (cached ones were not), of running requests, too.")
    )
    output_tokens_per_s = fields.Float(**nullable("Tokens of answers, of running requests, too."))
    requests_per_s = fields.Float(**nullable("Requests that ended."))
    failures_per_s = fields.Float(**nullable("Requests that failed."))
    queue_wait_p50_ms = fields.Integer(**nullable("Of the requests that ended; null if none did."))
    queue_wait_p95_ms = fields.Integer(**nullable("Likewise."))
    first_token_p50_ms = fields.Integer(**nullable("From the admission to the first output, likewise."))
    first_token_p95_ms = fields.Integer(**nullable("Likewise."))
    refusals_429 = fields.Integer(
        **nullable("Requests that were refused with 429 since the sample before; null for a model.")
    )
    refusals_503 = fields.Integer(**nullable("Likewise with 503."))
    errors = fields.Dict(
        keys=fields.String(),
        values=fields.Integer(),
        required=True,
        metadata={
            "description": "Requests that were refused or failed since the sample before, by error code. Of "
            "a model those that failed."
        },
    )
    cache_hit_rate = fields.Float(
        **nullable("The share of prompt tokens that came from a prefix cache, 0 to 1; null without prompts.")
    )


class ModelRates(marshmallow.Schema):
    """The rates of a model at the last sample, per second."""

    model = fields.String(required=True)
    input_tokens_per_s = fields.Float(required=True)
    output_tokens_per_s = fields.Float(required=True)
    requests_per_s = fields.Float(required=True)
    first_token_p95_ms = fields.Integer(
        **nullable(
            "From the admission to the first output, over about the last 5 minutes; null without requests."
        )
    )
    cache_hit_rate = fields.Float(
        **nullable("The share of prompt tokens that came from a prefix cache, over about the last 5 minutes.")
    )


class RecentMetricsBody(marshmallow.Schema):
    """The samples of the last hour or week."""

    now = fields.Float(required=True, metadata={"description": "The time of the answer, by Redis' clock."})
    interval_s = fields.Integer(
        required=True,
        metadata={"description": "The distance of the samples: 10 or 600; a longer one is a gap."},
    )
    samples = fields.List(
        fields.Nested(MetricSample), required=True, metadata={"description": "The oldest first."}
    )
    models = fields.List(
        fields.Nested(ModelRates),
        required=True,
        metadata={
            "description": "At the last sample; empty after a gap, if it is older than 20 s, and if the span "
            "is more than an hour."
        },
    )
