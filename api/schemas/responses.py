"""The bodies of /v1/responses (OpenAI API reference, "Responses"; Open Responses specification).

`messages`, `thinking`, `source_lang_code` and `target_lang_code` are this platform's, from its Runtime Admin
API, and `allow_remote`.
"""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.schemas.chat import ALLOW_REMOTE, TOKENS_MOST, TextFormat
from api.schemas.messages import (
    FUNCTION_NAME,
    TOOL_CHOICES,
    TOOLS_MOST,
    ChatMessage,
    FunctionChoice,
    FunctionTool,
    ImagePart,
    RefusalPart,
    TextPart,
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

STATUSES = ("queued", "in_progress", "completed", "incomplete", "failed", "cancelled")


def _parts(about: str, *types: str) -> Items:
    shapes: dict[str, type[Shape]] = dict.fromkeys(types, TextPart)
    if "output_text" in types:
        shapes["refusal"] = RefusalPart
    if "input_image" in types:
        shapes["input_image"] = ImagePart
    return Items(about, Tagged("A piece.", shapes, code="unsupported_input"))


class InputMessage(Shape):
    """A message of the conversation."""

    type = Choice("May be left out.", ("message",))
    role = Choice("Who speaks.", ("user", "assistant", "system", "developer"), required=True)
    content = Either(
        "What is said.",
        Text("The text."),
        _parts("Pieces of it.", "input_text", "output_text", "input_image"),
        required=True,
    )


class InputFunctionCall(Shape):
    """A call the model made earlier."""

    type = Choice("What it is.", ("function_call",), required=True)
    call_id = Text("The call's id, which its output repeats.", required=True, least=1, most=256)
    name = Text("Which function.", required=True, pattern=FUNCTION_NAME)
    arguments = Text("Its arguments: a JSON text.", required=True)


class InputFunctionOutput(Shape):
    """What a called function answered."""

    type = Choice("What it is.", ("function_call_output",), required=True)
    call_id = Text("Which call it answers.", required=True, least=1, most=256)
    output = Either(
        "The answer.", Text("The text."), _parts("Pieces of it.", "input_text", "output_text"), required=True
    )


class InputReasoning(Shape):
    """What the model thought earlier; only its plain text is used."""

    type = Choice("What it is.", ("reasoning",), required=True)
    summary = _parts("The summary.", "summary_text")
    content = _parts("The thoughts.", "reasoning_text")


class TextOptions(Shape):
    """How the answer is written."""

    format = Tagged("What it has to be.", {"text": TextFormat}, code="unsupported_parameter")


class Reasoning(Shape):
    """How the model thinks."""

    effort = Text("`none` turns thinking off, as `thinking: disabled` does; others are repeated and ignored.")
    summary = Text("Repeated and ignored.")


ITEMS: dict[str, type[Shape]] = {
    "message": InputMessage,
    "function_call": InputFunctionCall,
    "function_call_output": InputFunctionOutput,
    "reasoning": InputReasoning,
}


class ResponsesRequest(Shape):
    """What to generate. Fields that are not listed are accepted and ignored."""

    model = Text("Name of the model.", required=True, least=1, most=256, example="demo")
    input = Either(
        "What is asked: a text, or the items of a conversation.",
        Text("The text."),
        Items(
            "The conversation so far.",
            Tagged("An item.", ITEMS, default="message", code="unsupported_input"),
            least=1,
            most=10_000,
        ),
    )
    messages = Items(
        "The same in Chat Completions' form, instead of `input`.",
        Part("A message.", ChatMessage),
        least=1,
        most=10_000,
    )
    instructions = Text("A system message that goes before all others.")
    stream = Flag("Answer with server-sent events while the model speaks.")
    background = Flag("Answer at once with status `queued`; fetch the response later by its id.")
    store = Flag("Keep the response for a while, to be fetched by its id. True unless set.")
    max_output_tokens = Whole("Most tokens to generate, thinking included.", least=1, most=TOKENS_MOST)
    temperature = Number("How freely tokens are picked; 0 takes the likeliest.", least=0, most=2)
    top_p = Number("Pick among the likeliest tokens of this much probability.", least=0, most=1)
    metadata = Labels("Up to 16 pairs that the response repeats.")
    tools = Items(
        "Functions the model may call.",
        Tagged("A tool.", {"function": FunctionTool}, code="unsupported_tool"),
        most=TOOLS_MOST,
    )
    tool_choice = Either(
        "Whether it may call one.",
        Choice("How free it is.", TOOL_CHOICES),
        Tagged("The one to call.", {"function": FunctionChoice}, code="unsupported_parameter"),
    )
    parallel_tool_calls = Flag("Repeated and ignored.")
    max_tool_calls = Whole("Repeated and ignored.", least=1)
    text = Part("How the answer is written.", TextOptions)
    reasoning = Part("How the model thinks.", Reasoning)
    thinking = Choice("Whether the model thinks first, where it can be told.", THINKING_MODES)
    source_lang_code = Text(
        "Language of the text (or auto, mixed), for translation models.", pattern=LANGUAGE_CODE
    )
    target_lang_code = Text("Language to translate into, for translation models.", pattern=LANGUAGE_CODE)
    allow_remote = Flag(ALLOW_REMOTE)
    truncation = Choice("Repeated; nothing is ever cut from the input.", ("auto", "disabled"))
    top_logprobs = Whole("Only 0 is supported.", least=0, most=20)
    safety_identifier = Text("Repeated and ignored.", most=512)
    prompt_cache_key = Text("Repeated and ignored.", most=512)


def _shown(about: str, **settings: object) -> dict[str, object]:
    return {"description": about, **settings}


class ResponseError(marshmallow.Schema):
    """Why a response failed."""

    code = fields.String(required=True, metadata=_shown("One of OpenAI's codes; ours leads the message."))
    message = fields.String(required=True, metadata=_shown("Such as `engine_crashed: ...`."))


class ResponseObject(marshmallow.Schema):
    """A response, finished or not. All keys are always there."""

    id = fields.String(required=True, metadata=_shown("`resp_` and 32 hex digits."))
    object = fields.String(required=True, metadata={"enum": ["response"]})
    created_at = fields.Integer(required=True, metadata=_shown("Unix seconds."))
    completed_at = fields.Integer(required=True, allow_none=True, metadata=_shown("Unix seconds."))
    status = fields.String(required=True, metadata={"enum": list(STATUSES)})
    background = fields.Boolean(required=True)
    error = fields.Nested(ResponseError, required=True, allow_none=True)
    incomplete_details = fields.Dict(
        required=True,
        allow_none=True,
        metadata=_shown("`{reason: max_output_tokens}` where tokens ran out; or `content_filter`."),
    )
    instructions = fields.String(required=True, allow_none=True)
    max_output_tokens = fields.Integer(required=True, allow_none=True)
    max_tool_calls = fields.Integer(required=True, allow_none=True)
    model = fields.String(required=True)
    output = fields.List(
        fields.Dict(), required=True, metadata=_shown("Items: `message`, `reasoning`, `function_call`.")
    )
    parallel_tool_calls = fields.Boolean(required=True)
    previous_response_id = fields.String(required=True, allow_none=True)
    prompt_cache_key = fields.String(required=True, allow_none=True)
    reasoning = fields.Dict(required=True)
    safety_identifier = fields.String(required=True, allow_none=True)
    service_tier = fields.String(required=True)
    store = fields.Boolean(required=True)
    temperature = fields.Float(required=True, allow_none=True)
    text = fields.Dict(required=True)
    tool_choice = fields.Raw(required=True)
    tools = fields.List(fields.Dict(), required=True)
    top_logprobs = fields.Integer(required=True)
    top_p = fields.Float(required=True, allow_none=True)
    presence_penalty = fields.Float(required=True)
    frequency_penalty = fields.Float(required=True)
    truncation = fields.String(required=True)
    usage = fields.Dict(
        required=True,
        allow_none=True,
        metadata=_shown("Tokens in and out, cached and thought ones among them."),
    )
    metadata = fields.Dict(required=True, keys=fields.String(), values=fields.String())


class DeletedResponse(marshmallow.Schema):
    """That a stored response is gone."""

    id = fields.String(required=True)
    object = fields.String(required=True, metadata={"enum": ["response"]})
    deleted = fields.Boolean(required=True)
