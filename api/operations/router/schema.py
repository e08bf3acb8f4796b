"""The bodies of the router's routes (tools/server/README.md of llama.cpp, "Using multiple models")."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.strict_fields import StringField
from api.http.strict_schema import StrictSchema

MAX_MODEL = 512
EVENTS = (
    "model_status",
    "download_progress",
    "download_finished",
    "download_failed",
    "model_remove",
    "models_reload",
)


class NamedModel(StrictSchema):
    """A model that is loaded or unloaded."""

    closed = False

    model = StringField("Its name.", required=True, min_length=1, max_length=MAX_MODEL, example="demo")


class NewModel(StrictSchema):
    """A model that is downloaded."""

    closed = False

    model = StringField(
        "Where it is, as `stoker pull` takes it: `owner/name:QUANT` of a hub, or the address of a file.",
        required=True,
        min_length=1,
        max_length=MAX_MODEL,
        example="ggml-org/gemma-3-4b-it-GGUF:Q4_K_M",
    )


class Success(marshmallow.Schema):
    """What was asked for has begun."""

    success = fields.Boolean(required=True)


class RouterStreamEvent(marshmallow.Schema):
    """An event of the router; each is a `data:` line, without a name of its own."""

    model = fields.String(required=True, metadata={"description": "`*`: the list of models."})
    event = fields.String(required=True, metadata={"enum": list(EVENTS)})
    data = fields.Dict(metadata={"description": "`status`, `progress`, `exit_code`; or bytes by address."})
