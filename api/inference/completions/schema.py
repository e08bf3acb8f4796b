"""The bodies of POST /v1/completions (OpenAI API reference, "Completions")."""

from __future__ import annotations

from typing import Any

import marshmallow
from marshmallow import fields

from api.http.strict_fields import BooleanField, IntegerField, ListField, NestedField, StringField, UnionField
from api.http.strict_schema import SchemaMismatch
from api.inference.dialects.choices import MAX_CHOICES
from api.inference.dialects.request_fields import (
    ALLOW_REMOTE,
    SamplingFields,
    StreamOptions,
    TokenLimitField,
    answers_count,
    lora,
)
from api.inference.dialects.token_prompts import MAX_TOKEN, TokensField, check_parts, is_prompt


class PromptsField(ListField):
    """The prompts of a request, or the tokens of one."""

    def check(self, value: Any) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        if is_prompt(value):
            check_parts(value, texts=False)
            return
        if len(value) > MAX_CHOICES:
            raise SchemaMismatch(f"has more than {MAX_CHOICES} items")
        super().check(value)


class CompletionRequest(SamplingFields):
    """A text to continue. Fields that are not listed are accepted and ignored."""

    model = StringField("Name of the model.", required=True, min_length=1, max_length=256, example="demo")
    prompt = UnionField(
        "The text that the model continues as it is, without a chat template.",
        StringField("The text.", min_length=1),
        PromptsField(
            "The tokens of one, for models that take them; or texts and lists of tokens, with an answer each"
            " (`n` answers each), at most 32 answers together.",
            UnionField(
                "A prompt, or a token of one.",
                StringField("A text."),
                IntegerField("A token.", minimum=0, maximum=MAX_TOKEN),
                TokensField("Tokens."),
                required=True,
            ),
            min_items=1,
        ),
        required=True,
    )
    n = answers_count()
    suffix = StringField(
        "The text after the place that the answer fills, for models that have it; an empty one is none."
    )
    stream = BooleanField("Stream the response as server-sent events.")
    stream_options = NestedField("Options of the stream.", StreamOptions)
    echo = BooleanField(
        "Begin the answer with the prompt; with `logprobs` its tokens have them, for models that can do so."
    )
    logprobs = IntegerField(
        "The log probabilities of the answer's tokens and of so many of the likeliest in the place of each,"
        " for models that have them.",
        minimum=0,
        maximum=5,
    )
    max_tokens = TokenLimitField(
        "Maximum number of tokens to generate; 16 unless set, -1 sets none; 0 needs `echo`.", zero=True
    )
    best_of = IntegerField("Only 1 is supported.", minimum=1, only=1)
    lora = lora()
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
            "description": "One choice: `index`, `text`, `logprobs` and `finish_reason` (stop, length,"
            " content_filter)."
        },
    )
    usage = fields.Dict(
        allow_none=True,
        required=True,
        metadata={"description": "`prompt_tokens`, `completion_tokens`, `total_tokens` and their details."},
    )
