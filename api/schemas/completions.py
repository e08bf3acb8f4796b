"""The bodies of POST /v1/completions (OpenAI API reference, "Completions")."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.schemas.chat import ALLOW_REMOTE, INT64_LIMIT, MAX_TOKENS, StreamOptions
from api.schemas.strict_fields import (
    BooleanField,
    IntegerField,
    ListField,
    NestedField,
    NumberField,
    StringField,
    UnionField,
)
from api.schemas.strict_schema import StrictSchema

MAX_PROMPTS = 2048


class CompletionRequest(StrictSchema):
    """A text to continue. Fields that are not listed are accepted and ignored."""

    model = StringField("Name of the model.", required=True, min_length=1, max_length=256, example="demo")
    prompt = UnionField(
        "The text that the model continues as it is, without a chat template.",
        StringField("The text.", min_length=1),
        ListField(
            "One text; several, and token numbers, are refused.",
            StringField("The text.", required=True),
            min_items=1,
            max_items=MAX_PROMPTS,
        ),
        required=True,
    )
    stream = BooleanField("Stream the response as server-sent events.")
    stream_options = NestedField("Options of the stream.", StreamOptions)
    echo = BooleanField("Begin the answer with the prompt.")
    max_tokens = IntegerField(
        "Maximum number of tokens to generate; 16 unless set.", minimum=1, maximum=MAX_TOKENS
    )
    temperature = NumberField(
        "Sampling temperature; 0 always takes the likeliest token.", minimum=0, maximum=2
    )
    top_p = NumberField(
        "Nucleus sampling: sample from the likeliest tokens with this total probability.",
        minimum=0,
        maximum=1,
    )
    seed = IntegerField(
        "Makes the sampling reproducible, for engines that support it.",
        minimum=-INT64_LIMIT,
        maximum=INT64_LIMIT - 1,
    )
    stop = UnionField(
        "Stop before the first of these texts.",
        StringField("One text.", min_length=1, max_length=256),
        ListField(
            "Up to four.", StringField("A text.", required=True, min_length=1, max_length=256), max_items=4
        ),
    )
    n = IntegerField("Number of answers; only 1 is supported.", minimum=1, only=1)
    best_of = IntegerField("Only 1 is supported.", minimum=1, only=1)
    presence_penalty = NumberField("Only 0 is supported.", minimum=-2, maximum=2, only=0)
    frequency_penalty = NumberField("Only 0 is supported.", minimum=-2, maximum=2, only=0)
    allow_remote = BooleanField(ALLOW_REMOTE)


class TextCompletion(marshmallow.Schema):
    """A finished answer."""

    id = fields.String(required=True, metadata={"description": "`cmpl-` and 32 hex digits."})
    object = fields.String(required=True, metadata={"enum": ["text_completion"]})
    created = fields.Integer(required=True, metadata={"description": "Unix seconds."})
    model = fields.String(required=True)
    choices = fields.List(
        fields.Dict(),
        required=True,
        metadata={
            "description": "One choice: `index`, `text`, `logprobs` (null) and `finish_reason` (stop, length,"
            " content_filter)."
        },
    )
    usage = fields.Dict(
        allow_none=True,
        required=True,
        metadata={"description": "`prompt_tokens`, `completion_tokens`, `total_tokens` and their details."},
    )
