"""The bodies of POST /slots/{id} (tools/server/README.md, "POST /slots/{id_slot}?action=save")."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.strict_fields import StringField
from api.http.strict_schema import StrictSchema
from api.inference.generation_headers import MAX_CONVERSATION_ID_CHARS
from generation.state_names import MAX_NAME_CHARS

MAX_MODEL_CHARS = 256


class StateBody(StrictSchema):
    """What is saved, restored or erased. Fields that are not listed are accepted and ignored."""

    closed = False

    filename = StringField(
        f"The name of the saved state: at most {MAX_NAME_CHARS} letters, digits, `.`, `_` and `-`. Needed to"
        " save and to restore; an erasure with one deletes the saved state.",
        max_length=1024,
        example="chat-1.bin",
    )
    model = StringField(
        "Name of the model; the only one that the key may use unless set.",
        min_length=1,
        max_length=MAX_MODEL_CHARS,
        example="demo",
    )
    conversation_id = StringField(
        "The `X-Conversation-Id` of the requests whose state is meant, in place of the header.",
        min_length=1,
        max_length=MAX_CONVERSATION_ID_CHARS,
    )


class StateObject(marshmallow.Schema):
    """What was done, as llama-server says it."""

    id_slot = fields.Integer(required=True, metadata={"description": "That of the path."})
    filename = fields.String(metadata={"description": "As given."})
    n_saved = fields.Integer(metadata={"description": "Tokens that were saved."})
    n_written = fields.Integer(metadata={"description": "Bytes of the file."})
    n_restored = fields.Integer(metadata={"description": "Tokens that were restored."})
    n_read = fields.Integer(metadata={"description": "Bytes of the file."})
    n_erased = fields.Integer(metadata={"description": "Tokens that were erased."})
    timings = fields.Dict(metadata={"description": "`save_ms` or `restore_ms`."})
