"""The bodies of POST /v1/chat/completions (OpenAI API reference, "Chat Completions")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import marshmallow
from marshmallow import fields

from api.http.strict_fields import (
    BooleanField,
    EnumField,
    IntegerField,
    ListField,
    LogitBiasField,
    MetadataField,
    NestedField,
    NumberField,
    StringField,
    TaggedUnionField,
    UnionField,
)
from api.http.strict_schema import StrictSchema
from api.inference.cache_control import MAX_KEY_CHARS
from api.inference.dialects.choices import MAX_N
from api.inference.dialects.message_fields import (
    MAX_TOOLS,
    TOOL_CHOICES,
    ChatAllowedTools,
    ChatMessage,
    ChatTool,
    ChatToolChoice,
)
from api.inference.dialects.output_format_fields import chat_formats
from api.inference.dialects.service_tier import OPENAI_TIERS
from api.inference.dialects.tool_fields import ToolsField
from generation.generation import LANGUAGE_CODE, THINKING_MODES

MAX_TOKENS = 2**31 - 1
INT64_LIMIT = 2**63
ALLOW_REMOTE = (
    "Whether the model may run on another operator's server (`remote` in the list of models). Such a model"
    " refuses requests without it; for other models it has no effect."
)


def lora() -> StringField:
    """The field `lora`, the name of a LoRA adapter."""
    return StringField(
        "The name of a LoRA adapter to answer with, one of the model's (`lora` in the list of models).",
        min_length=1,
        max_length=64,
    )


def prompt_cache_key() -> StringField:
    """The field `prompt_cache_key` of OpenAI's APIs."""
    return StringField(
        "A cache of its own within the tenant's, as an `X-Cache-Tag`, which outweighs it.",
        max_length=MAX_KEY_CHARS,
    )


def service_tier() -> EnumField:
    """The field `service_tier` of OpenAI's APIs."""
    return EnumField(
        "The priority: `flex` low, `default` and `scale` normal, `priority`, `fast` and `ultrafast` high, at"
        " most the tenant's maximum; `X-Priority` outweighs it. The answer has the tier that was used.",
        tuple(OPENAI_TIERS),
    )


class StreamOptions(StrictSchema):
    """Options of a stream."""

    include_usage = BooleanField("End with a chunk that has the usage and no choices.")


class SamplingFields(StrictSchema):
    """The fields of a request for sampling, and those of OpenAI's with one supported value."""

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
    n = IntegerField(
        "Number of answers; each is a job, and counts as one for all limits.", minimum=1, maximum=MAX_N
    )
    presence_penalty = NumberField(
        "Makes tokens that occurred less likely, for models that have it; others take only 0.",
        minimum=-2,
        maximum=2,
    )
    frequency_penalty = NumberField("The same for each time that a token occurred.", minimum=-2, maximum=2)
    repetition_penalty = NumberField(
        "Divides the logits of tokens that occurred, for models that have it; 1 has no effect.",
        minimum=0.01,
        maximum=100,
    )
    top_k = IntegerField(
        "Sample from so many of the likeliest tokens, for models that have it; 0 from all.",
        minimum=0,
        maximum=MAX_TOKENS,
    )
    min_p = NumberField(
        "The least probability of a token, as a part of that of the likeliest, for models that have it.",
        minimum=0,
        maximum=1,
    )
    logit_bias = LogitBiasField(
        "What is added to the logits of tokens, by token id of the model; for models that have it."
    )


class ChatRequest(SamplingFields):
    """A generation request. Fields that are not listed are accepted and ignored."""

    also: ClassVar[Mapping[str, Any]] = {
        "anyOf": [
            {"properties": {"top_logprobs": {"type": "null"}}},
            {"required": ["logprobs"], "properties": {"logprobs": {"const": True}}},
        ]
    }

    model = StringField("Name of the model.", required=True, min_length=1, max_length=256, example="demo")
    messages = ListField(
        "The conversation so far.",
        NestedField("A message.", ChatMessage),
        required=True,
        min_items=1,
        max_items=10_000,
    )
    stream = BooleanField("Stream the response as server-sent events.")
    stream_options = NestedField("Options of the stream.", StreamOptions)
    max_completion_tokens = IntegerField(
        "Maximum number of tokens to generate.", minimum=1, maximum=MAX_TOKENS
    )
    max_tokens = IntegerField("The older name of `max_completion_tokens`.", minimum=1, maximum=MAX_TOKENS)
    tools = ToolsField(
        "Functions the model may call.",
        TaggedUnionField("A tool.", {"function": ChatTool}, code="unsupported_tool"),
        max_items=MAX_TOOLS,
    )
    tool_choice = UnionField(
        "Whether the model may, must or must not call a function.",
        EnumField("The mode.", TOOL_CHOICES),
        TaggedUnionField(
            "The function to call, or those that may be called.",
            {"function": ChatToolChoice, "allowed_tools": ChatAllowedTools},
            code="unsupported_parameter",
        ),
    )
    parallel_tool_calls = BooleanField("False: at most one call in an answer.")
    response_format = chat_formats()
    reasoning_effort = StringField(
        "`none` turns thinking off, as `thinking: disabled` does. `minimal` to `xhigh` reach models whose"
        " chat template has a place for them, as low, medium or high."
    )
    logprobs = BooleanField("The log probabilities of the answer's tokens, for models that have them.")
    top_logprobs = IntegerField(
        "So many of the likeliest tokens in the place of each; needs `logprobs`.", minimum=0, maximum=20
    )
    thinking = EnumField("Whether the model reasons first, for models with such a switch.", THINKING_MODES)
    source_lang_code = StringField(
        "Language of the text (or auto, mixed), for translation models.", pattern=LANGUAGE_CODE
    )
    target_lang_code = StringField(
        "Language to translate into, for translation models.", pattern=LANGUAGE_CODE
    )
    lora = lora()
    allow_remote = BooleanField(ALLOW_REMOTE)
    metadata = MetadataField("Ignored.")
    prompt_cache_key = prompt_cache_key()
    service_tier = service_tier()


class ChatCompletion(marshmallow.Schema):
    """A finished answer."""

    id = fields.String(required=True, metadata={"description": "`chatcmpl-` and 32 hex digits."})
    object = fields.String(required=True, metadata={"enum": ["chat.completion"]})
    created = fields.Integer(required=True, metadata={"description": "Unix seconds."})
    model = fields.String(required=True)
    choices = fields.List(
        fields.Dict(),
        required=True,
        metadata={
            "description": "One choice: `index`, `finish_reason` (stop, length, tool_calls, content_filter),"
            " `logprobs`, and `message` with `content`, `tool_calls` and `reasoning_content` where there are"
            " any."
        },
    )
    usage = fields.Dict(
        allow_none=True,
        required=True,
        metadata={"description": "`prompt_tokens`, `completion_tokens`, `total_tokens` and their details."},
    )
