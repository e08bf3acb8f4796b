"""The bodies of /health, /ready and /live."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

_UPTIME = {"description": "Seconds since this process started."}


class HealthBody(marshmallow.Schema):
    """The state of the platform."""

    status = fields.String(required=True, metadata={"enum": ["healthy", "unhealthy"]})
    uptime = fields.Integer(required=True, metadata=_UPTIME)
    models_loaded = fields.Integer(required=True, data_key="modelsLoaded")
    queue_depth = fields.Integer(
        required=True, data_key="queueDepth", metadata={"description": "Waiting requests of all models."}
    )
    models_saturated = fields.Integer(
        data_key="modelsSaturated",
        metadata={"description": "Served models whose queues have reached `queue.saturated_at`, if any."},
    )
    not_ready = fields.String(
        data_key="notReady", metadata={"description": "Why no requests are taken, as in `/ready`."}
    )
    reason = fields.String(metadata={"description": "Why it is unhealthy."})


class OkBody(marshmallow.Schema):
    """Requests are taken, in llama-server's form."""

    status = fields.String(required=True, metadata={"enum": ["ok"]})


class ReadyBody(marshmallow.Schema):
    """Whether requests are taken."""

    status = fields.String(required=True, metadata={"enum": ["ready", "not_ready"]})
    reason = fields.String(metadata={"description": "Why no requests are taken."})


class LiveBody(marshmallow.Schema):
    """A process that runs."""

    status = fields.String(required=True, metadata={"enum": ["live"]})
    uptime = fields.Integer(required=True, metadata=_UPTIME)
