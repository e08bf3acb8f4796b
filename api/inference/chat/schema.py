"""The bodies of POST /v1/chat/completions (OpenAI API reference, "Chat Completions")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import marshmallow
from marshmallow import fields

from api.http.strict_fields import (
    AnyField,
    BooleanField,
    EnumField,
    IntegerField,
    ListField,
    NestedField,
    StringField,
    TaggedUnionField,
    UnionField,
)
from api.http.strict_schema import StrictSchema
from api.inference.dialects.guided_output import GuidedFields
from api.inference.dialects.message_fields import (
    CHAT_TOOL_CHOICES,
    MAX_TOOLS,
    ChatAllowedTools,
    ChatCustomTool,
    ChatFunction,
    ChatMessage,
    ChatMode,
    ChatTool,
    ChatToolChoice,
    ChosenFunction,
    OtherTool,
)
from api.inference.dialects.output_format_fields import chat_formats
from api.inference.dialects.request_fields import (
    ALLOW_REMOTE,
    MAX_TOKENS,
    SamplingFields,
    StreamOptions,
    TokenLimitField,
    answers_count,
    lora,
    prompt_cache_key,
    service_tier,
    thinking_field,
)
from api.inference.dialects.tool_fields import ToolsField
from api.inference.dialects.tool_schema import check_tools_together
from api.inference.llama_server.chat_fields import LlamaServerFields
from generation.generation import LANGUAGE_CODE


class TemplateArguments(StrictSchema):
    """Arguments of the chat template."""

    enable_thinking = BooleanField("As `thinking`, which outweighs it; without effect on other models.")
    thinking = BooleanField("The same, in the templates of DeepSeek and others.")
    reasoning_effort = StringField("As `reasoning_effort`, which outweighs it.", max_length=64)
    thinking_budget = IntegerField(
        "As `thinking_budget_tokens`, which outweighs it.", minimum=-1, maximum=MAX_TOKENS
    )


class FunctionsField(ListField):
    """The functions of a request in the older form."""

    def check(self, value: Any) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        super().check(value)
        check_tools_together(value)


class ChatRequest(SamplingFields, GuidedFields, LlamaServerFields):
    """A generation request. Fields that are not listed are accepted and ignored."""

    also: ClassVar[Mapping[str, Any]] = {
        "anyOf": [
            {"properties": {"top_logprobs": {"enum": [0, None]}}},
            {"required": ["logprobs"], "properties": {"logprobs": {"const": True}}},
        ]
    }

    model = StringField(
        "Name of the model; not needed where the key may use one model alone.", max_length=256, example="demo"
    )
    messages = ListField(
        "The conversation so far.",
        NestedField("A message.", ChatMessage),
        required=True,
        min_items=1,
        max_items=10_000,
    )
    stream = BooleanField("Stream the response as server-sent events.")
    stream_options = NestedField("Options of the stream.", StreamOptions)
    n = answers_count()
    max_completion_tokens = TokenLimitField("Maximum number of tokens to generate; -1 sets none.")
    max_tokens = TokenLimitField("The older name of `max_completion_tokens`.")
    tools = ToolsField(
        "Functions the model may call. A tool of another type is not offered to the model; the header"
        " `X-Ignored-Tools` names its type.",
        TaggedUnionField(
            "A tool.",
            {"function": ChatTool, "custom": ChatCustomTool},
            default="function",
            other=OtherTool,
        ),
        max_items=MAX_TOOLS,
    )
    tool_choice = UnionField(
        "Whether the model may, must or must not call a function.",
        EnumField("The mode; `any` is another name of `required`.", CHAT_TOOL_CHOICES),
        TaggedUnionField(
            "The function to call, those that may be called, or a mode.",
            {
                "function": ChatToolChoice,
                "allowed_tools": ChatAllowedTools,
                **dict.fromkeys(CHAT_TOOL_CHOICES, ChatMode),
            },
            default="function",
            code="unsupported_parameter",
        ),
    )
    functions = FunctionsField(
        "The older form of `tools`: the answer has its call in `function_call`, and at most one.",
        NestedField("A function.", ChatFunction),
        max_items=MAX_TOOLS,
    )
    function_call = UnionField(
        "The older form of `tool_choice`.",
        EnumField("The mode.", ("none", "auto")),
        NestedField("The function to call.", ChosenFunction),
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
    thinking = thinking_field()
    chat_template_kwargs = NestedField(
        "What Stoker knows of the arguments of templates, as in vLLM and llama-server; others are ignored.",
        TemplateArguments,
    )
    source_lang_code = StringField(
        "Language of the text (or auto, mixed), for translation models.", pattern=LANGUAGE_CODE
    )
    target_lang_code = StringField(
        "Language to translate into, for translation models.", pattern=LANGUAGE_CODE
    )
    lora = lora()
    allow_remote = BooleanField(ALLOW_REMOTE)
    metadata = AnyField("Ignored: frameworks send any values.")
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
    timings = fields.Dict(
        metadata={"description": "llama-server's, for a request with a field that only llama-server knows."}
    )
