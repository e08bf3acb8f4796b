"""The bodies of POST /v1/embeddings (OpenAI API reference, "Embeddings")."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.strict_fields import BooleanField, EnumField, IntegerField, ListField, StringField, UnionField
from api.http.strict_schema import StrictSchema
from api.inference.dialects.request_fields import ALLOW_REMOTE, MAX_DIMENSIONS, MAX_INPUTS

MAX_TOKEN = 2**31 - 1


def inputs_field(*, required: bool = False) -> UnionField:
    """The field with the inputs of a request."""
    return UnionField(
        "What to make vectors of.",
        StringField("A text.", min_length=1),
        ListField(
            f"Up to {MAX_INPUTS} texts or lists of tokens, with a vector each; or the tokens of one text.",
            UnionField(
                "An item; all are of one kind.",
                StringField("A text."),
                IntegerField("A token.", minimum=0, maximum=MAX_TOKEN),
                ListField("Tokens.", IntegerField("A token.", minimum=0, maximum=MAX_TOKEN), min_items=1),
                required=True,
            ),
            min_items=1,
        ),
        required=required,
    )


class EmbeddingsRequest(StrictSchema):
    """Texts to make vectors of. Fields that are not listed are accepted and ignored."""

    model = StringField("Name of the model.", required=True, min_length=1, max_length=256, example="demo")
    input = inputs_field(required=True)
    encoding_format = EnumField(
        "The form of a vector: a list of numbers, or the base64 of its float32 numbers, little-endian.",
        ("float", "base64"),
    )
    dimensions = IntegerField(
        "How many numbers a vector has, for models that can shorten theirs.",
        minimum=1,
        maximum=MAX_DIMENSIONS,
    )
    allow_remote = BooleanField(ALLOW_REMOTE)


class EmbeddingsObject(marshmallow.Schema):
    """The vectors, in the order of the inputs."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    data = fields.List(
        fields.Dict(),
        required=True,
        metadata={"description": "A vector each: `object` (`embedding`), `index` and `embedding`."},
    )
    model = fields.String(required=True)
    usage = fields.Dict(required=True, metadata={"description": "`prompt_tokens` and `total_tokens`."})
