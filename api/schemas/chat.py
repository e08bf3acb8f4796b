"""The bodies of POST /v1/chat/completions (OpenAI API reference, "Chat Completions")."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.schemas.messages import (
    TOOL_CHOICES,
    TOOLS_MOST,
    ChatMessage,
    ChatTool,
    ChatToolChoice,
)
from api.schemas.strict_fields import (
    Choice,
    Either,
    Flag,
    Items,
    Labels,
    Number,
    Part,
    Tagged,
    Text,
    Whole,
)
from api.schemas.strict_schema import Shape
from tasks.generation import LANGUAGE_CODE, THINKING_MODES

TOKENS_MOST = 2**31 - 1
INT64 = 2**63
ALLOW_REMOTE = (
    "Whether the model may be one on somebody else's machine (`remote` in the list of models). Such a model"
    " refuses requests without it; others do not mind."
)


class StreamOptions(Shape):
    """How a stream is told."""

    include_usage = Flag("End with a chunk that has no choices and the usage.")


class TextFormat(Shape):
    """The answer is text; nothing else is supported."""

    type = Choice("Only `text`.", ("text",), required=True)


class ChatRequest(Shape):
    """What to generate. Fields that are not listed are accepted and ignored."""

    model = Text("Name of the model.", required=True, least=1, most=256, example="demo")
    messages = Items(
        "The conversation so far.", Part("A message.", ChatMessage), required=True, least=1, most=10_000
    )
    stream = Flag("Answer with server-sent events while the model speaks.")
    stream_options = Part("How the stream is told.", StreamOptions)
    max_completion_tokens = Whole("Most tokens to generate.", least=1, most=TOKENS_MOST)
    max_tokens = Whole("The older name of `max_completion_tokens`.", least=1, most=TOKENS_MOST)
    temperature = Number("How freely tokens are picked; 0 takes the likeliest.", least=0, most=2)
    top_p = Number("Pick among the likeliest tokens of this much probability.", least=0, most=1)
    seed = Whole("Makes the picking repeatable where the engine can.", least=-INT64, most=INT64 - 1)
    stop = Either(
        "Stop before any of these texts would be said.",
        Text("One text.", least=1, most=256),
        Items("Up to four.", Text("A text.", required=True, least=1, most=256), most=4),
    )
    tools = Items(
        "Functions the model may call.",
        Tagged("A tool.", {"function": ChatTool}, code="unsupported_tool"),
        most=TOOLS_MOST,
    )
    tool_choice = Either(
        "Whether it may call one.",
        Choice("How free it is.", TOOL_CHOICES),
        Tagged("The one to call.", {"function": ChatToolChoice}, code="unsupported_parameter"),
    )
    n = Whole("How many answers; only 1 is supported.", least=1)
    presence_penalty = Number("Only 0 is supported.", least=-2, most=2)
    frequency_penalty = Number("Only 0 is supported.", least=-2, most=2)
    response_format = Tagged("What the answer has to be.", {"text": TextFormat}, code="unsupported_parameter")
    reasoning_effort = Text("`none` turns thinking off, as `thinking: disabled` does; others are ignored.")
    thinking = Choice("Whether the model thinks first, where it can be told.", THINKING_MODES)
    source_lang_code = Text(
        "Language of the text (or auto, mixed), for translation models.", pattern=LANGUAGE_CODE
    )
    target_lang_code = Text("Language to translate into, for translation models.", pattern=LANGUAGE_CODE)
    allow_remote = Flag(ALLOW_REMOTE)
    metadata = Labels("Ignored.")


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
            " and `message` with `content`, `tool_calls` and `reasoning_content` where there are any."
        },
    )
    usage = fields.Dict(
        allow_none=True,
        required=True,
        metadata={"description": "`prompt_tokens`, `completion_tokens`, `total_tokens` and their details."},
    )
