"""The bodies of POST /embedding (tools/server/README.md of llama.cpp)."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.strict_fields import IntegerField
from api.http.strict_schema import StrictSchema
from api.inference.embeddings.schema import inputs_field
from api.inference.llama_server.model_name import model_field


class EmbeddingRequest(StrictSchema):
    """Texts to make vectors of. Fields that are not listed are accepted and ignored."""

    model = model_field()
    input = inputs_field()
    content = inputs_field()
    embd_normalize = IntegerField("2: vectors of length 1, the only ones that there are.")


class IndexedVectors(marshmallow.Schema):
    """The vectors of an input: one."""

    index = fields.Integer(required=True)
    embedding = fields.List(fields.List(fields.Float()), required=True)
