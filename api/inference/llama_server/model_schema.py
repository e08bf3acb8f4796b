"""The answers of /props, /slots and /lora-adapters (tools/server/README.md of llama.cpp)."""

from __future__ import annotations

import marshmallow
from marshmallow import fields


class Properties(marshmallow.Schema):
    """The properties of a model; without one, those of llama-server's router."""

    role = fields.String(metadata={"enum": ["router"], "description": "Only without a model."})
    max_instances = fields.Integer(
        metadata={"description": "How many models requests load at a time, else how many there are."}
    )
    models_autoload = fields.Boolean(metadata={"description": "Whether requests load a model (`on_demand`)."})
    default_generation_settings = fields.Dict(
        required=True,
        metadata={"description": "`params` of a request that asks for nothing else, and `n_ctx`."},
    )
    total_slots = fields.Integer()
    model_alias = fields.String(required=True)
    model_path = fields.String(required=True, metadata={"description": "The model's name."})
    modalities = fields.Dict(metadata={"description": "`vision`, `video` and `audio`."})
    chat_template = fields.String()
    chat_template_caps = fields.Dict()
    bos_token = fields.String()
    eos_token = fields.String()
    build_info = fields.String(required=True)
    is_sleeping = fields.Boolean()
    endpoint_slots = fields.Boolean()
    endpoint_props = fields.Boolean()
    endpoint_metrics = fields.Boolean()
    cors_proxy_enabled = fields.Boolean()
    ui = fields.Boolean()
    ui_settings = fields.Dict()
    webui_settings = fields.Dict()


class Slot(marshmallow.Schema):
    """A slot of a model. Nothing in it tells what a request asked, or whose it is."""

    id = fields.Integer(required=True)
    n_ctx = fields.Integer(required=True)
    speculative = fields.Boolean(required=True)
    is_processing = fields.Boolean(required=True)


class LoraAdapter(marshmallow.Schema):
    """A LoRA adapter of a model."""

    id = fields.Integer(required=True)
    path = fields.String(required=True, metadata={"description": "Its name, for the field `lora`."})
    scale = fields.Float(required=True, metadata={"description": "0: only requests that name it have it."})
