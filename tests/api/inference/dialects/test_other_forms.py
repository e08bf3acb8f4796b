"""Bodies in the forms of other servers' clients mean the same as in the form of each API."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from api.http.errors import InvalidRequest
from api.http.strict_schema import SchemaMismatch
from api.inference.chat import dialect as chat
from api.inference.chat.schema import ChatRequest
from api.inference.dialects.base import ParsedRequest
from api.inference.messages import dialect as anthropic_messages
from api.inference.messages.schema import MessagesRequest
from api.inference.ollama import chat as ollama_chat
from api.inference.ollama.schema import OllamaChatRequest
from api.inference.responses import dialect as responses
from api.inference.responses.schema import ResponsesRequest
from tests.support.pictures import DOT

Json = dict[str, Any]
Parse = Callable[[Json], ParsedRequest]

USER = {"role": "user", "content": "Hi"}
FUNCTION = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}
NESTED = {"tools": [{"type": "function", "function": FUNCTION}]}
FLAT = {"tools": [{"type": "function", **FUNCTION}]}
REQUIRED = {"tools": [FUNCTION], "tool_choice": "required"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


def parse_with(schema: Any, dialect: Any, **base: Any) -> Parse:
    def parse(body: Json) -> ParsedRequest:
        full = copy.deepcopy({**base, **body})
        schema.check(full)
        parsed: ParsedRequest = dialect.parse(full)
        return parsed

    return parse


CHAT = parse_with(ChatRequest, chat, model="m", messages=[USER])
RESPONSES = parse_with(ResponsesRequest, responses, model="m", input="Hi")
MESSAGES = parse_with(MessagesRequest, anthropic_messages, model="m", max_tokens=5, messages=[USER])
OLLAMA = parse_with(OllamaChatRequest, ollama_chat, model="m", messages=[USER])


def user(*parts: Any) -> Json:
    return {"messages": [{"role": "user", "content": [*parts]}]}


def item(*parts: Any, role: str = "user") -> Json:
    return {"input": [{"role": role, "content": [*parts]}]}


def called(call: Json, result: Json | None = None) -> Json:
    calls = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"messages": [USER, calls, {"role": "tool", "content": "42", **(result or {"tool_call_id": "c"})}]}


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
TEXT, IMAGE = {"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {"url": DOT}}
INPUT_TEXT, INPUT_IMAGE = (
    {"type": "input_text", "text": "Hi"},
    {"type": "input_image", "image_url": DOT},
)


def response_format(**json_schema: Any) -> Json:
    return {"response_format": {"type": "json_schema", "json_schema": json_schema}}


@pytest.mark.parametrize(
    ("parse", "given", "meant"),
    [
        # parts of a content
        (CHAT, user({"text": "Hi"}), user(TEXT)),
        (CHAT, user("Hi"), user(TEXT)),
        (CHAT, user({"type": "", "text": "Hi"}), user(TEXT)),
        (CHAT, user({"type": "text", "text": None}, TEXT), user({"type": "text", "text": ""}, TEXT)),
        (CHAT, user(INPUT_TEXT, INPUT_IMAGE), user(TEXT, IMAGE)),
        (CHAT, user({"image_url": DOT}), user(IMAGE)),
        (CHAT, user({"image_url": {"url": DOT}}), user(IMAGE)),
        (CHAT, user({"type": "image_url", "image_url": DOT}), user(IMAGE)),
        (RESPONSES, item({"text": "Hi"}), item(INPUT_TEXT)),
        (RESPONSES, item("Hi"), item(INPUT_TEXT)),
        (RESPONSES, item(TEXT, IMAGE), item(INPUT_TEXT, INPUT_IMAGE)),
        (RESPONSES, item({"type": "input_image", "image_url": {"url": DOT}}), item(INPUT_IMAGE)),
        (RESPONSES, item(TEXT, role="assistant"), item(INPUT_TEXT, role="assistant")),
        (MESSAGES, user({"text": "Hi"}), user(TEXT)),
        (MESSAGES, user("Hi"), user(TEXT)),
        (MESSAGES, {"system": [{"text": "Hi"}]}, {"system": [TEXT]}),
        # calls and their results
        (CHAT, called({**CALL, "function": {"name": "f", "arguments": {}}}), called(CALL)),
        (CHAT, called({**CALL, "function": {"name": "f", "arguments": None}}), called(CALL)),
        (CHAT, called({**CALL, "function": {"name": "f"}}), called(CALL)),
        (
            CHAT,
            called({**CALL, "id": ""}, {"tool_call_id": ""}),
            called({**CALL, "id": "call_1_0"}, {"name": "f"}),
        ),
        (CHAT, called(CALL, {}), called(CALL)),
        (
            RESPONSES,
            {"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": {}}]},
            {"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]},
        ),
        # tools and the choice among them
        (CHAT, {"tools": [{"function": FUNCTION}]}, NESTED),
        (
            CHAT,
            FLAT,
            NESTED,
        ),
        (CHAT, {"tools": [FUNCTION]}, NESTED),
        (
            CHAT,
            {"tools": [{"name": "f", "description": "d", "input_schema": FUNCTION["parameters"]}]},
            NESTED,
        ),
        (
            RESPONSES,
            NESTED,
            FLAT,
        ),
        (RESPONSES, {"tools": [FUNCTION]}, FLAT),
        (CHAT, {"tools": [FUNCTION], "tool_choice": "any"}, REQUIRED),
        (
            CHAT,
            {"tools": [FUNCTION], "tool_choice": {"type": "any"}},
            REQUIRED,
        ),
        (CHAT, {"tools": [FUNCTION], "tool_choice": {"type": "auto"}}, {"tools": [FUNCTION]}),
        (
            CHAT,
            {"tools": [FUNCTION], "tool_choice": {"type": "function", "name": "f"}},
            {"tools": [FUNCTION], "tool_choice": {"type": "function", "function": {"name": "f"}}},
        ),
        (
            RESPONSES,
            {"tools": [FUNCTION], "tool_choice": {"type": "function", "function": {"name": "f"}}},
            {"tools": [FUNCTION], "tool_choice": {"type": "function", "name": "f"}},
        ),
        # the form of the answer
        (CHAT, {"response_format": {}}, {}),
        (CHAT, {"response_format": {"type": None}}, {}),
        (CHAT, response_format(schema=SCHEMA), response_format(schema=SCHEMA, name="response")),
        (CHAT, response_format(schema=SCHEMA, name="A[b c]"), response_format(schema=SCHEMA, name="A_b_c_")),
        (CHAT, response_format(name="a"), {"response_format": {"type": "json_object"}}),
        (
            CHAT,
            {"response_format": {"type": "json_schema", "name": "a", "schema": SCHEMA}},
            response_format(name="a", schema=SCHEMA),
        ),
        (RESPONSES, {"text": {"format": {}}}, {"text": {"format": {"type": "text"}}}),
        (
            RESPONSES,
            {"text": {"format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}}},
            {"text": {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA}}},
        ),
        # thinking
        (CHAT, {"thinking": {"type": "adaptive"}}, {"thinking": "default"}),
        (RESPONSES, {"thinking": {"type": "disabled"}}, {"thinking": "disabled"}),
        (
            CHAT,
            {"chat_template_kwargs": {"thinking": True}},
            {"chat_template_kwargs": {"enable_thinking": True}},
        ),
        (
            MESSAGES,
            {"thinking": {"type": "disabled", "budget_tokens": 0}},
            {"thinking": {"type": "disabled"}},
        ),
        # values that set nothing
        (RESPONSES, {"max_output_tokens": -1, "previous_response_id": "", "conversation": ""}, {}),
        (RESPONSES, {"include": ["a_field_of_tomorrow"]}, {}),
        (CHAT, {"metadata": {"trace": {"id": 1, "tags": ["a"]}}}, {}),
        (CHAT, {"metadata": ["a"] * 100}, {}),
        (MESSAGES, {"stop_sequences": ["", "x"], "top_k": -1}, {"stop_sequences": ["x"], "top_k": 0}),
    ],
)
def test_a_body_means_the_same_in_the_form_of_another_client(parse: Parse, given: Json, meant: Json) -> None:
    found, expected = parse(given), parse(meant)
    assert found.generation == expected.generation
    assert (found.echo, found.new_input) == (expected.echo, expected.new_input)


@pytest.mark.parametrize(
    ("part", "reasoning"),
    [
        ({"type": "thinking", "thinking": "Hm.", "signature": "x"}, "Hm."),
        ({"type": "reasoning", "text": "Hm."}, "Hm."),
        ({"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, None),
        ({"type": "tool_use", "id": "c", "name": "f", "input": {}}, None),
        ({"type": "redacted_thinking", "data": "x"}, None),
    ],
)
def test_a_part_of_another_api_in_a_chat_message_of_the_assistant_is_read_as_reasoning_or_left_out(
    part: Json, reasoning: str | None
) -> None:
    (message, _) = CHAT(
        {"messages": [{"role": "assistant", "content": [part, TEXT]}, USER]}
    ).generation.messages
    assert (message.text, message.reasoning) == ("Hi", reasoning)


@pytest.mark.parametrize("role", ["user", "system", "tool"])
def test_a_part_of_an_unknown_type_is_refused_outside_of_the_assistants_messages(role: str) -> None:
    message = {"role": role, "tool_call_id": "c", "content": [{"type": "thinking", "thinking": "Hm."}]}
    with pytest.raises(SchemaMismatch) as caught:
        CHAT({"messages": [message]})
    assert (caught.value.code, caught.value.path) == ("unsupported_input", "messages[0].content[0].type")


@pytest.mark.parametrize("part", [{"text": "a", "image_url": DOT}, {}, {"txt": "a"}])
def test_a_part_whose_type_is_not_clear_is_refused(part: Json) -> None:
    for parse, body in ((CHAT, user(part)), (RESPONSES, item(part))):
        with pytest.raises(SchemaMismatch, match="is required"):
            parse(body)


@pytest.mark.parametrize(
    ("parse", "body", "named"),
    [
        (CHAT, {"web_search_options": {}}, ("web_search_options",)),
        (MESSAGES, {"mcp_servers": [{"type": "url", "url": "https://x"}]}, ("mcp_servers",)),
        (MESSAGES, {"container": {"skills": []}, "mcp_servers": []}, ("container",)),
    ],
)
def test_a_field_about_tools_of_a_vendors_servers_is_left_out_and_named(
    parse: Parse, body: Json, named: tuple[str, ...]
) -> None:
    parsed = parse(body)
    assert (parsed.ignored_tools, parsed.generation) == (named, parse({}).generation)


def test_a_tool_message_without_an_id_is_refused_when_no_call_is_open() -> None:
    with pytest.raises(InvalidRequest) as caught:
        CHAT({"messages": [USER, {"role": "tool", "content": "42"}]})
    assert caught.value.param == "messages[1].tool_call_id"


def test_a_result_in_ollamas_form_is_taken_when_its_call_was_dropped() -> None:
    for result in ({}, {"tool_name": "f"}, {"tool_call_id": ""}):
        (_, message) = OLLAMA(
            {"messages": [USER, {"role": "tool", "content": "42", **result}]}
        ).generation.messages
        assert (message.role, message.text, message.tool_call_id) == ("tool", "42", "call_1")
