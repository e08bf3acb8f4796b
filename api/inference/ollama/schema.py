"""The bodies of Ollama's API (Ollama API reference): chat, generate and show."""

from __future__ import annotations

from typing import Any

import marshmallow
from marshmallow import fields

from api.http.strict_fields import (
    AnyField,
    BooleanField,
    EnumField,
    IntegerField,
    ListField,
    NestedField,
    NumberField,
    ObjectField,
    StringField,
    TaggedUnionField,
    UnionField,
)
from api.http.strict_schema import SchemaMismatch, StrictSchema
from api.inference.dialects.message_fields import FUNCTION_NAME, MAX_TOOLS, ChatFunction, OtherTool
from api.inference.dialects.request_fields import ALLOW_REMOTE, MAX_DIMENSIONS, MAX_INPUTS, MAX_STOPS, lora
from api.inference.dialects.tool_fields import SchemaField, ToolsField

ROLES = ("system", "user", "assistant", "tool", "developer")
EFFORTS = ("low", "medium", "high", "max")


class ThinkField(AnyField):
    """Ollama's `think`: a boolean, or an amount of reasoning."""

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        if type(value) is not bool and value not in EFFORTS:
            raise SchemaMismatch(f"must be true, false or one of {', '.join(EFFORTS)}")


class RoleField(EnumField):
    """The author of a message: Ollama reads it in capitals, too."""

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        super().check(value.lower() if isinstance(value, str) else value)


class ParametersField(SchemaField):
    """The JSON Schema of a function's arguments, in which null stands for an absent keyword (as in Go)."""

    def check(self, value: object) -> None:
        """Drop the nulls from a value, and validate it. Raises `SchemaMismatch`."""
        if isinstance(value, dict):
            _drop_null_keywords(value)
        super().check(value)


_SCHEMA_MAPS = ("properties", "patternProperties", "$defs", "definitions")
_MAY_BE_NULL = ("default", "const")
_VALUES = (*_MAY_BE_NULL, "enum", "examples")
"""Keywords with values that are no schemas."""


def _drop_null_keywords(schema: dict[str, Any]) -> None:
    for name in [name for name, value in schema.items() if value is None and name not in _MAY_BE_NULL]:
        del schema[name]
    for name, value in schema.items():
        if name in _SCHEMA_MAPS and isinstance(value, dict):
            value |= {key: {} for key, inner in value.items() if inner is None}
            inner_schemas: list[Any] = [*value.values()]
        else:
            inner_schemas = [] if name in _VALUES else value if isinstance(value, list) else [value]
        for inner in inner_schemas:
            if isinstance(inner, dict):
                _drop_null_keywords(inner)


class CalledOllamaFunction(StrictSchema):
    """The function of a tool call."""

    name = StringField("Its name.", required=True, pattern=FUNCTION_NAME)
    arguments = ObjectField("Its arguments.")


class OllamaToolCall(StrictSchema):
    """An earlier call by the assistant."""

    id = StringField("The id of the call.", max_length=256)
    function = NestedField("The function and its arguments.", CalledOllamaFunction, required=True)


class OllamaMessage(StrictSchema):
    """One message of the conversation."""

    role = RoleField("The author; `developer` is treated as `system`.", ROLES, required=True)
    content = StringField("The text.")
    thinking = StringField("The assistant's reasoning before its answer.")
    images = ListField(
        "Images of a user message: PNG, JPEG, WebP or GIF files in base64.",
        StringField("An image.", required=True),
        max_items=32,
    )
    tool_calls = ListField(
        "The assistant's calls.", NestedField("A call.", OllamaToolCall), max_items=MAX_TOOLS
    )
    tool_name = StringField("The function whose result a `tool` message has.", max_length=256)
    tool_call_id = StringField("The id of the call, if it has one.", max_length=256)


class OllamaFunction(ChatFunction):
    """A function the model may call."""

    parameters = ParametersField("JSON Schema of its arguments, within the bounds of docs/api.md.")


class OllamaTool(StrictSchema):
    """A function; the `type` may be absent or null, as for Ollama."""

    function = NestedField("The function.", OllamaFunction, required=True)


class OllamaOptions(StrictSchema):
    """Sampling options; options of Ollama's engine (`num_ctx`, `num_gpu`, ...) are ignored.

    A number beyond the range that its description names counts as the end of the range.
    """

    num_predict = NumberField("Maximum number of tokens to generate; none below 1.")
    temperature = NumberField("Sampling temperature, from 0 to 2.")
    top_k = NumberField("Sample from so many of the likeliest tokens; from all if it is 0 or less.")
    top_p = NumberField("Nucleus sampling, from 0 to 1.")
    min_p = NumberField("The least probability, as a part of that of the likeliest, from 0 to 1.")
    seed = NumberField("Makes the sampling reproducible; -1 does not.")
    stop = UnionField(
        "Stop before the first of these texts; empty ones have no effect.",
        StringField("One text.", max_length=256),
        ListField("Several.", StringField("A text.", required=True, max_length=256), max_items=MAX_STOPS),
    )
    repeat_penalty = NumberField("Divides the logits of tokens that occurred, up to 100; none if 0 or less.")
    presence_penalty = NumberField("As OpenAI's, from -2 to 2.")
    frequency_penalty = NumberField("As OpenAI's, from -2 to 2.")


class OllamaFields(StrictSchema):
    """The fields that chat and generate share. Fields that are not listed are accepted and ignored."""

    model = StringField(
        "Name of the model; `:latest` may follow.",
        required=True,
        min_length=1,
        max_length=256,
        example="demo",
    )
    stream = BooleanField("Stream the answer as lines of JSON; true unless set.")
    think = ThinkField(
        "Whether the model reasons first: true, false, or an amount, which is true too: low, medium, high."
    )
    format = AnyField('"json", or the JSON Schema that the answer fits.')
    options = NestedField("Sampling options.", OllamaOptions)
    keep_alive = AnyField(
        "Ignored: a model stays loaded until an operator unloads it. Zero without a prompt is refused."
    )
    logprobs = BooleanField("The log probabilities of the answer's tokens, for models that have them.")
    top_logprobs = IntegerField(
        "With `logprobs`: so many of the likeliest tokens in the place of each.", minimum=0, maximum=20
    )
    shift = BooleanField("Ignored: an answer that fills the context ends there, with the reason `length`.")
    lora = lora()
    allow_remote = BooleanField(ALLOW_REMOTE)


class OllamaChatRequest(OllamaFields):
    """A conversation to continue."""

    messages = ListField(
        "The conversation; empty: asks whether the model is loaded.",
        NestedField("A message.", OllamaMessage),
        max_items=10_000,
    )
    tools = ToolsField(
        "Functions the model may call. A tool of another type is not offered to the model; the header"
        " `X-Ignored-Tools` names its type.",
        TaggedUnionField("A tool.", {"function": OllamaTool}, default="function", other=OtherTool),
        max_items=MAX_TOOLS,
    )
    truncate = BooleanField("True: the oldest messages that do not fit into the context are dropped.")


class OllamaGenerateRequest(OllamaFields):
    """A prompt to answer, or a text to continue."""

    prompt = StringField("The prompt; empty: asks whether the model is loaded.")
    system = StringField("The system message.")
    images = ListField(
        "Images of the prompt, in base64.", StringField("An image.", required=True), max_items=32
    )
    raw = BooleanField("Continue the prompt as it is, without a chat template.")
    suffix = StringField("The text after the place that the answer fills; the prompt is continued as it is.")
    template = StringField("Not supported.")
    context = AnyField("Ignored, and not returned: /api/chat continues a conversation.")
    truncate = BooleanField("Ignored: a prompt that is longer than the model's context is refused.")


class OllamaEmbeddingFields(StrictSchema):
    """The fields that both routes for vectors share. Fields that are not listed are accepted and ignored."""

    model = StringField(
        "Name of the model; `:latest` may follow.",
        required=True,
        min_length=1,
        max_length=256,
        example="demo",
    )
    options = AnyField("Ignored: options of Ollama's engine.")
    keep_alive = AnyField(
        "Ignored: a model stays loaded until an operator unloads it. Zero without an input is refused."
    )
    allow_remote = BooleanField(ALLOW_REMOTE)


class OllamaEmbedRequest(OllamaEmbeddingFields):
    """Texts to make vectors of."""

    input = UnionField(
        "What to make vectors of; empty: asks whether the model is loaded.",
        StringField("A text."),
        ListField(
            f"Up to {MAX_INPUTS} texts, none of them empty.",
            StringField("A text.", required=True),
            max_items=MAX_INPUTS,
        ),
    )
    dimensions = IntegerField(
        "How many numbers a vector has, for models that can shorten theirs; all of them below 1.",
        maximum=MAX_DIMENSIONS,
    )
    truncate = BooleanField("Ignored: a text that is longer than the model's context is refused.")


class OllamaEmbeddingsRequest(OllamaEmbeddingFields):
    """A text to make a vector of."""

    prompt = StringField("The text; empty: asks whether the model is loaded.")


class OllamaShowRequest(StrictSchema):
    """The model to describe."""

    model = StringField("Name of the model.", max_length=256)
    name = StringField("The older name of `model`.", max_length=256)


class OllamaAnswer(marshmallow.Schema):
    """A finished answer of chat (`message`) or generate (`response`, `thinking`)."""

    model = fields.String(required=True)
    created_at = fields.String(required=True, metadata={"description": "RFC 3339."})
    message = fields.Dict()
    response = fields.String()
    thinking = fields.String()
    logprobs = fields.List(
        fields.Dict(),
        metadata={"description": "For each token `token`, `logprob`, `bytes` and `top_logprobs`."},
    )
    done = fields.Boolean(required=True)
    done_reason = fields.String(metadata={"description": "stop, length, content_filter or load."})
    total_duration = fields.Integer(metadata={"description": "Nanoseconds in the queue and the engine."})
    load_duration = fields.Integer(metadata={"description": "Nanoseconds in the queue."})
    prompt_eval_duration = fields.Integer(
        metadata={"description": "Nanoseconds in the engine up to the first output."}
    )
    eval_duration = fields.Integer(metadata={"description": "Nanoseconds in the engine after it."})
    prompt_eval_count = fields.Integer(metadata={"description": "Tokens of the prompt."})
    eval_count = fields.Integer(metadata={"description": "Tokens of the answer."})


class OllamaVectors(marshmallow.Schema):
    """The vectors of texts, in the order of the inputs."""

    model = fields.String(required=True)
    embeddings = fields.List(fields.List(fields.Float()), required=True)
    total_duration = fields.Integer(metadata={"description": "Nanoseconds in the queue and the engine."})
    load_duration = fields.Integer(metadata={"description": "Nanoseconds in the queue."})
    prompt_eval_count = fields.Integer(metadata={"description": "Tokens of the inputs."})


class OllamaVector(marshmallow.Schema):
    """The vector of a text; without numbers where there was none."""

    embedding = fields.List(fields.Float(), required=True)


class OllamaModels(marshmallow.Schema):
    """The models that the key may use."""

    models = fields.List(fields.Dict(), required=True)


class OllamaModel(marshmallow.Schema):
    """A model."""

    details = fields.Dict(required=True)
    model_info = fields.Dict(required=True)
    capabilities = fields.List(fields.String(), required=True)
    modified_at = fields.String(required=True)
    parameters = fields.String(required=True)
    template = fields.String(required=True)
    modelfile = fields.String(required=True)


class OllamaVersion(marshmallow.Schema):
    """The version of Ollama's API that this platform follows."""

    version = fields.String(required=True)


class OllamaError(marshmallow.Schema):
    """An error."""

    error = fields.String(required=True)
    code = fields.String(required=True)
    param = fields.String(required=True, allow_none=True)
