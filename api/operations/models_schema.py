"""The bodies of /v1/models."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

STATES = ("unloaded", "loading", "loaded", "unloading", "failed")


class ModelArchitecture(marshmallow.Schema):
    """What goes in and out of a model, as llama-server has it."""

    input_modalities = fields.List(fields.String(), required=True)
    output_modalities = fields.List(fields.String(), required=True)


class ModelStatus(marshmallow.Schema):
    """The state of a model, as llama-server's router has it."""

    value = fields.String(required=True, metadata={"enum": ["unloaded", "loading", "loaded"]})
    args = fields.List(fields.String(), required=True, metadata={"description": "Always empty."})
    failed = fields.Boolean(required=True)


class ModelObject(marshmallow.Schema):
    """A model, with the keys of both OpenAI's and Anthropic's model objects."""

    id = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["model"]})
    created = fields.Integer(
        required=True, metadata={"description": "Unix seconds of its load; 0 if it is not loaded."}
    )
    owned_by = fields.String(required=True)
    type = fields.String(required=True, metadata={"enum": ["model"]})
    display_name = fields.String(required=True)
    created_at = fields.String(required=True, metadata={"description": "`created` in RFC 3339."})
    lifecycle = fields.String(required=True, metadata={"enum": ["active"]})
    context_length = fields.Integer(
        required=True,
        allow_none=True,
        metadata={
            "description": "The most tokens of one request, prompt and answer together, as the loaded engine"
            " reports it; of a model that is not loaded null."
        },
    )
    max_model_len = fields.Integer(
        required=True, allow_none=True, metadata={"description": "`context_length` under vLLM's name."}
    )
    max_input_tokens = fields.Integer(
        required=True, allow_none=True, metadata={"description": "`context_length` under Anthropic's name."}
    )
    max_tokens = fields.Integer(
        required=True, allow_none=True, metadata={"description": "The same, as the bound of an answer."}
    )
    state = fields.String(
        required=True,
        metadata={"enum": list(STATES), "description": "Only a `loaded` model accepts requests."},
    )
    remote = fields.Boolean(
        required=True,
        metadata={
            "description": "Whether it runs on another operator's server: requests need `allow_remote: true`."
        },
    )
    lora = fields.List(
        fields.String(),
        required=True,
        metadata={"description": "The names of its LoRA adapters, for the field `lora` of a request."},
    )
    aliases = fields.List(fields.String(), required=True, metadata={"description": "Always empty."})
    tags = fields.List(fields.String(), required=True, metadata={"description": "Always empty."})
    architecture = fields.Nested(ModelArchitecture, required=True)
    meta = fields.Dict(
        required=True, allow_none=True, metadata={"description": "`n_ctx` of a loaded model, else null."}
    )
    status = fields.Nested(ModelStatus, required=True)


class ModelList(marshmallow.Schema):
    """All models, with the keys of both vendors' lists."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    data = fields.List(fields.Nested(ModelObject), required=True)
    has_more = fields.Boolean(required=True)
    first_id = fields.String(required=True, allow_none=True)
    last_id = fields.String(required=True, allow_none=True)
