"""The bodies of requests and answers about models that are added and removed."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.strict_fields import BooleanField, ObjectField, StringField
from api.http.strict_schema import StrictSchema
from api.operations.admin_schema import OperationObject
from api.operations.hub_schema import ModelFile, ModelFit
from fleet.dynamic_model import MAX_NAME

MAX_SOURCE = 2048


def _described(text: str) -> dict[str, str]:
    return {"description": text}


class AdditionBody(StrictSchema):
    """A model to add."""

    closed = True  # an unknown field may be meant for `configuration`
    unknown_field = "is not a field of an addition; fields of a model belong into `configuration`"

    source = StringField(
        "`owner/name` or `owner/name:QUANT` on the hub, `hf://owner/name@revision/file`, an address of the"
        " hub, or a path below `model_base_path`.",
        required=True,
        min_length=1,
        max_length=MAX_SOURCE,
        example="Qwen/Qwen3-8B-GGUF:Q4_K_M",
    )
    name = StringField(
        "The name for requests; null: one is made of the source.", min_length=1, max_length=MAX_NAME
    )
    configuration = ObjectField(
        "Fields of a model as in the configuration (`device`, `enabled`, `on_demand`, options of its"
        " backend); all others get defaults. Options that name programs are not accepted."
    )
    replace = BooleanField("Change the definition of an added model of this name, which is not loaded.")


class AddedModel(marshmallow.Schema):
    """A model that is being added or removed, and the operation to poll."""

    model = fields.String(required=True)
    operation = fields.Nested(
        OperationObject,
        required=True,
        allow_none=True,
        metadata=_described("Null: the model is registered, there is nothing to wait for."),
    )


class DefaultObject(marshmallow.Schema):
    """The value of a field that the request left open."""

    field = fields.String(required=True)
    value = fields.Raw(required=True, allow_none=True)
    reason = fields.String(required=True)


class AdditionPlanObject(marshmallow.Schema):
    """The model that an addition would make."""

    model = fields.String(required=True)
    source = fields.String(
        required=True, metadata=_described("On a hub with the commit that would be taken.")
    )
    files = fields.List(fields.Nested(ModelFile), required=True)
    download_bytes = fields.Integer(required=True, metadata=_described("Of the files that are not there."))
    configuration = fields.Dict(
        required=True, metadata=_described("The complete configuration; secrets are left out.")
    )
    defaults = fields.List(fields.Nested(DefaultObject), required=True)
    fit = fields.Nested(ModelFit, required=True)
