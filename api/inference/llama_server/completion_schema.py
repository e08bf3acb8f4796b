"""The bodies of llama-server's native routes (tools/server/README.md, "POST /completion", "POST /infill")."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.strict_fields import ListField, NestedField, StringField
from api.http.strict_schema import StrictSchema
from api.inference.llama_server.prompts import PromptField
from api.inference.llama_server.sampling_fields import LlamaFields

MAX_FILES = 1024


class NativeCompletionRequest(LlamaFields):
    """A text to continue, in llama-server's form."""

    prompt = PromptField()


class ExtraFile(StrictSchema):
    """A part of another file."""

    filename = StringField("Its name.", max_length=1024)
    text = StringField("Its text.")


class InfillRequest(LlamaFields):
    """A text with a gap to fill, in llama-server's form."""

    input_prefix = StringField("The text before the gap.", required=True)
    input_suffix = StringField("The text behind the gap.", required=True)
    input_extra = ListField(
        "Parts of other files, which the prompt begins with.",
        NestedField("A part.", ExtraFile, required=True),
        max_items=MAX_FILES,
    )
    prompt = StringField("How the text in the gap begins.")


class NativeCompletion(marshmallow.Schema):
    """A finished answer; with several prompts, or `n`, a list of these. `response_fields` selects fields."""

    index = fields.Integer(metadata={"description": "The place of its prompt."})
    content = fields.String()
    tokens = fields.List(fields.Integer(), metadata={"description": "The ids, with `return_tokens`."})
    id_slot = fields.Integer(metadata={"description": "-1."})
    stop = fields.Boolean()
    model = fields.String()
    tokens_predicted = fields.Integer()
    tokens_evaluated = fields.Integer(metadata={"description": "The tokens of the prompt."})
    generation_settings = fields.Dict()
    prompt = fields.Raw(metadata={"description": "As the request has it."})
    has_new_line = fields.Boolean()
    truncated = fields.Boolean(metadata={"description": "The context is full."})
    stop_type = fields.String(metadata={"enum": ["none", "eos", "limit", "word"]})
    stopping_word = fields.String()
    tokens_cached = fields.Integer()
    timings = fields.Dict()
    completion_probabilities = fields.List(fields.Dict(), metadata={"description": "With `n_probs`."})
