"""The bodies of /v1/admin (the platform's Runtime Admin API)."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.schemas.fields import Whole
from api.schemas.models import STATES
from api.schemas.shape import Shape


class LoadRequest(Shape):
    """How to load a model; an empty object, or no body, takes everything from the configuration."""

    closed = True  # an override that is not known must not be dropped in silence

    replicas = Whole("How many replicas, for this load only.", least=1, most=1024)


class Capabilities(marshmallow.Schema):
    """What a model can be asked to do."""

    modalities = fields.List(fields.String(), required=True)
    multi_turn = fields.Boolean(required=True)
    thinking_modes = fields.List(fields.String(), required=True)


class AdminModel(marshmallow.Schema):
    """A configured model and its live state."""

    name = fields.String(required=True)
    resolved_backend = fields.String(required=True)
    configured_enabled = fields.Boolean(
        required=True, metadata={"description": "What the configuration says."}
    )
    runtime_state = fields.String(required=True, metadata={"enum": list(STATES)})
    is_loaded = fields.Boolean(required=True)
    replicas = fields.Integer(
        required=True, metadata={"description": "How many this load has or would have."}
    )
    replica_max = fields.Integer(required=True)
    loaded_replicas = fields.Integer(required=True)
    inflight_requests = fields.Integer(required=True)
    queue_depth = fields.Integer(required=True)
    runtime_inflight = fields.Integer(required=True)
    configured_target_inflight = fields.Integer(required=True)
    effective_target_inflight = fields.Integer(required=True)
    last_error = fields.String(required=True, allow_none=True)
    operation_id = fields.String(
        required=True, allow_none=True, metadata={"description": "The latest load or unload."}
    )
    loaded_at = fields.Float(required=True, allow_none=True, metadata={"description": "Unix seconds."})
    load_constraints = fields.Dict(required=True, metadata={"description": "What one load may change."})
    capabilities = fields.Nested(Capabilities, required=True)
    definition = fields.Dict(
        required=True, metadata={"description": "As configured, without paths or arguments."}
    )


class AdminModelList(marshmallow.Schema):
    """All configured models."""

    models = fields.List(fields.Nested(AdminModel), required=True)


class OperationObject(marshmallow.Schema):
    """A load or unload under way, or ended."""

    id = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["operation"]})
    kind = fields.String(required=True, metadata={"enum": ["load", "unload"]})
    model = fields.String(required=True)
    status = fields.String(required=True, metadata={"enum": ["pending", "running", "completed", "failed"]})
    stage = fields.String(required=True, metadata={"description": "What is being done, in a few words."})
    progress = fields.Float(required=True, metadata={"minimum": 0, "maximum": 1})
    error = fields.String(required=True, allow_none=True)
    created_at = fields.Float(required=True, metadata={"description": "Unix seconds."})
    finished_at = fields.Float(required=True, allow_none=True, metadata={"description": "Unix seconds."})


class ChangedModel(AdminModel):
    """A model that was asked to load or unload, and the operation to poll (null when it never had one)."""

    operation = fields.Nested(OperationObject, required=True, allow_none=True)
