"""The bodies of /v1/models."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.operations.router.status import VALUES

STATES = ("unloaded", "loading", "loaded", "unloading", "failed")


class ModelArchitecture(marshmallow.Schema):
    """What goes in and out of a model, as llama-server has it."""

    input_modalities = fields.List(fields.String(), required=True)
    output_modalities = fields.List(fields.String(), required=True)


class ModelStatus(marshmallow.Schema):
    """The state of a model, as llama-server's router has it."""

    value = fields.String(required=True, metadata={"enum": list(VALUES)})
    args = fields.List(
        fields.String(),
        required=True,
        metadata={"description": "Of a llama-server that runs the model so; empty for other backends."},
    )
    failed = fields.Boolean(required=True)
    exit_code = fields.Integer(metadata={"description": "Of a model that has failed: 1."})
    progress = fields.Dict(
        metadata={
            "description": "Of a load `stages`, `current` and `value` (0 to 1), of a download its bytes by"
            " address; for callers that may load models."
        }
    )


class ModelLoading(marshmallow.Schema):
    """A load under way."""

    progress = fields.Float(required=True, metadata={"description": "From 0 to 1."})
    eta_s = fields.Float(
        required=True, allow_none=True, metadata={"description": "Seconds; null while not known."}
    )


class ModelFailure(marshmallow.Schema):
    """Why the last load of a model failed, or its engine was lost."""

    code = fields.String(required=True, metadata={"description": "As `last_error_code` of an admin row."})
    message = fields.String(
        required=True,
        allow_none=True,
        metadata={
            "description": "Of `load_failed`, `load_timeout` and `out_of_memory`: why, without paths and"
            " addresses. Else null."
        },
    )


class ModelChat(marshmallow.Schema):
    """What a client needs to offer a model in a list. Null is what is not known."""

    can_load = fields.Boolean(
        required=True,
        metadata={"description": "Whether a request of the key loads it, at least with `?autoload=true`."},
    )
    may_load = fields.Boolean(required=True, metadata={"description": "Whether the key may load models."})
    on_demand = fields.String(
        required=True,
        metadata={"enum": ["load", "reject"], "description": "What a request for the unloaded model does."},
    )
    loading = fields.Nested(ModelLoading, required=True, allow_none=True)
    failure = fields.Nested(
        ModelFailure,
        required=True,
        allow_none=True,
        metadata={"description": "Of a failed or unloaded model; null if its last load did not fail."},
    )
    load_s = fields.Float(
        required=True, allow_none=True, metadata={"description": "Usual duration of a load, in seconds."}
    )
    context_length = fields.Integer(
        required=True,
        allow_none=True,
        metadata={"description": "Of the loaded engine, else of the last load, else as configured."},
    )
    size_bytes = fields.Integer(required=True, allow_none=True, metadata={"description": "Of its files."})
    quantization = fields.String(
        required=True, allow_none=True, metadata={"description": "In the loaded runtime's words."}
    )
    input = fields.List(
        fields.String(),
        required=True,
        metadata={
            "description": "`text`, `image`, `document`, `audio`; `image` of a model that changes images."
        },
    )
    output = fields.String(
        required=True, metadata={"enum": ["text", "embeddings", "scores", "transcript", "audio", "image"]}
    )
    media_tasks = fields.List(
        fields.String(),
        required=True,
        metadata={"description": "What a model of audio or images does: `transcribe`, `translate` ..."},
    )
    image_sizes = fields.List(
        fields.String(),
        required=True,
        metadata={"description": "The sizes of the images that it makes, the default first; empty: any."},
    )
    image_qualities = fields.List(
        fields.String(), required=True, metadata={"description": "The names that `quality` may have."}
    )
    voices = fields.List(
        fields.String(),
        required=True,
        metadata={"description": "The names of its voices; empty: it has numbers from 0 on."},
    )
    tools = fields.Boolean(required=True)
    json_schema = fields.Boolean(required=True)
    multi_turn = fields.Boolean(required=True)
    counts_tokens = fields.Boolean(required=True)
    reasoning = fields.List(
        fields.String(), required=True, metadata={"description": "The values of `thinking` that it takes."}
    )
    sampling = fields.List(
        fields.String(), required=True, metadata={"description": "The fields of a request that it honours."}
    )
    tokens_per_second = fields.Float(
        required=True,
        allow_none=True,
        metadata={"description": "Output tokens of one request in a second, of the answers since yesterday."},
    )


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
    path = fields.String(metadata={"description": "Of its file; for administrators."})
    source = fields.String(
        required=True,
        metadata={
            "enum": ["settings", "preset", "cache"],
            "description": "`settings`: the configuration; `preset`: a presets file; `cache`: it was added.",
        },
    )
    can_remove = fields.Boolean(
        required=True, metadata={"description": "Whether the key may remove it (`DELETE /models`)."}
    )
    status = fields.Nested(ModelStatus, required=True)
    chat = fields.Nested(ModelChat, required=True)


class ModelList(marshmallow.Schema):
    """All models, with the keys of both vendors' lists."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    data = fields.List(fields.Nested(ModelObject), required=True)
    has_more = fields.Boolean(required=True)
    first_id = fields.String(required=True, allow_none=True)
    last_id = fields.String(required=True, allow_none=True)
