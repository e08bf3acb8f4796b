"""The events of GET /v1/admin/events."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.answer_fields import nullable
from api.operations.admin_schema import STATE, AdminModel, GpuMemory, OperationObject


def _type(name: str) -> fields.String:
    return fields.String(required=True, metadata={"enum": [name]})


class ModelEvent(marshmallow.Schema):
    """A model as it is now."""

    type = _type("model")
    model = fields.Nested(AdminModel, required=True)


class ModelRemovedEvent(marshmallow.Schema):
    """A dynamic model that was unloaded: it is not in the list any more."""

    type = _type("model_removed")
    name = fields.String(required=True)


class GpuMemoryEvent(marshmallow.Schema):
    """The memory as it is now."""

    type = _type("gpu_memory")
    gpu_memory = fields.Nested(GpuMemory, required=True)


class OperationEvent(marshmallow.Schema):
    """An operation as it is now."""

    type = _type("operation")
    operation = fields.Nested(OperationObject, required=True)


class StateChangedEvent(marshmallow.Schema):
    """A change of a model's state; its id is that of the event."""

    type = _type("state")
    id = fields.String(required=True)
    model = fields.String(required=True)
    from_ = fields.String(required=True, data_key="from", attribute="from", metadata=STATE)
    to = fields.String(required=True, metadata=STATE)
    at = fields.Float(required=True, metadata={"description": "Unix seconds."})
    operation_id = fields.String(**nullable("The model's latest operation at that time."))
    code = fields.String(**nullable("Why it failed."))
    message = fields.String(
        **nullable(
            "Why it failed, for operators; or, from `loaded` to `loaded`, why it has more or fewer replicas."
        )
    )


class CatalogueChangedEvent(marshmallow.Schema):
    """A change of an added model, or the begin or end of what adds or removes it."""

    type = _type("catalogue")
    id = fields.String(required=True)
    model = fields.String(required=True)
    change = fields.String(required=True, metadata={"enum": ["registered", "removed", "download", "remove"]})
    status = fields.String(
        **nullable("Of a download or removal: `pending` at its begin, else how it has ended.")
    )
    at = fields.Float(required=True, metadata={"description": "Unix seconds."})
    operation_id = fields.String(**nullable("The download or removal."))
    code = fields.String(**nullable("Why it failed."))
    message = fields.String(**nullable("Why it failed, for operators."))


class ProposalChangedEvent(marshmallow.Schema):
    """A change of a proposal; its id is that of the event."""

    type = _type("proposal")
    id = fields.String(required=True)
    proposal_id = fields.String(required=True)
    operation = fields.String(required=True, metadata={"description": "What is proposed: `model-load`, ..."})
    from_ = fields.String(data_key="from", attribute="from", **nullable("Null: it was created."))
    to = fields.String(required=True)
    at = fields.Float(required=True, metadata={"description": "Unix seconds."})
    signatures = fields.Integer(required=True)
    threshold = fields.Integer(required=True)
    operation_id = fields.String(**nullable("The operation that it started."))
    message = fields.String(**nullable("Why it ended."))


class AlertChangedEvent(marshmallow.Schema):
    """An alert that fires, is resolved or acknowledged, or not any more; its id is that of the event."""

    type = _type("alert")
    id = fields.String(required=True)
    alert = fields.String(required=True, metadata={"description": "The name of its rule."})
    label = fields.String(required=True, metadata={"description": "The model or the GPU, or empty."})
    from_ = fields.String(
        required=True,
        data_key="from",
        attribute="from",
        metadata={"enum": ["inactive", "pending", "firing", "acknowledged"]},
    )
    to = fields.String(required=True, metadata={"enum": ["firing", "resolved", "acknowledged"]})
    at = fields.Float(required=True, metadata={"description": "Unix seconds."})
    severity = fields.String(required=True, metadata={"enum": ["critical", "warning"]})
    message = fields.String(
        required=True, metadata={"description": "The rule in words, or the note of an acknowledgement."}
    )


class ChangeList(marshmallow.Schema):
    """A page of the changes, the newest first."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    data = fields.List(
        fields.Raw(
            metadata={
                "anyOf": [
                    {"$ref": "#/components/schemas/StateChangedEvent"},
                    {"$ref": "#/components/schemas/CatalogueChangedEvent"},
                    {"$ref": "#/components/schemas/ProposalChangedEvent"},
                    {"$ref": "#/components/schemas/AlertChangedEvent"},
                ]
            }
        ),
        required=True,
    )
    has_more = fields.Boolean(required=True)
    first_id = fields.String(**nullable("The newest change of the page."))
    last_id = fields.String(**nullable("The oldest change of the page: `before` of the next one."))


EVENTS = (
    ModelEvent,
    ModelRemovedEvent,
    GpuMemoryEvent,
    OperationEvent,
    StateChangedEvent,
    CatalogueChangedEvent,
    ProposalChangedEvent,
    AlertChangedEvent,
)
