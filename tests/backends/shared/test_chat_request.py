"""The body of a chat completion for an engine."""

from __future__ import annotations

import pytest

from backends.openai_remote.responses_api import responses_body
from backends.shared.chat_request import chat_body, llama_body
from generation.generation import (
    AudioPart,
    Generation,
    ImagePart,
    JsonFormat,
    Message,
    NamedTool,
    Sampling,
    TextPart,
    Tool,
    ToolCall,
    text_content,
)
from tests.backends.conftest import ask

TOOLS = (Tool("a", "does a", {"type": "object", "properties": {"x": {"type": "string"}}}), Tool("b"))


def test_unset_parameters_are_not_sent() -> None:
    assert chat_body(ask("hi"), "generic") == {
        "model": "model",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_all_sampling_parameters_are_sent() -> None:
    sampling = Sampling(max_tokens=5, temperature=0.0, top_p=0.5, seed=0, stop=("x",))
    body = chat_body(Generation("model", (Message("user", text_content("hi")),), sampling), "generic")
    sampling_fields = {name: body[name] for name in ("max_tokens", "temperature", "top_p", "seed", "stop")}
    assert sampling_fields == {"max_tokens": 5, "temperature": 0.0, "top_p": 0.5, "seed": 0, "stop": ["x"]}


def test_the_thinking_mode_is_sent_unless_it_is_default() -> None:
    assert chat_body(ask("hi", thinking="enabled"), "generic")["chat_template_kwargs"] == {
        "enable_thinking": True
    }
    assert chat_body(ask("hi", thinking="disabled"), "generic")["chat_template_kwargs"] == {
        "enable_thinking": False
    }
    assert "chat_template_kwargs" not in chat_body(ask("hi"), "generic")


def test_the_effort_is_an_argument_of_the_template_beside_the_thinking_mode() -> None:
    assert chat_body(ask("hi", reasoning_effort="low"), "generic")["chat_template_kwargs"] == {
        "reasoning_effort": "low"
    }
    both = chat_body(ask("hi", reasoning_effort="high", thinking="enabled"), "generic")
    assert both["chat_template_kwargs"] == {"enable_thinking": True, "reasoning_effort": "high"}


def test_a_conversation_with_tools_keeps_its_calls_and_results() -> None:
    messages = (
        Message("user", text_content("hi")),
        Message("assistant", (), "hm", (ToolCall("1", "a", '{"x":"y"}'),)),
        Message("tool", text_content("done"), tool_call_id="1"),
    )
    sent = chat_body(Generation("model", messages), "generic")["messages"]
    assert sent[1] == {
        "role": "assistant",
        "content": "",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "a", "arguments": '{"x":"y"}'}}],
    }
    assert sent[2] == {"role": "tool", "content": "done", "tool_call_id": "1"}


def test_images_keep_their_position_in_the_text() -> None:
    content = (
        ImagePart("data:a"),
        *(TextPart("A"), TextPart("ñd"), ImagePart("data:b", "low"), TextPart(""), ImagePart("data:c")),
        *(TextPart(""), TextPart(" s"), ImagePart("data:d"), TextPart("o"), TextPart("")),
    )
    messages = (Message("user", content), Message("user", content[:1]))
    mixed, alone = chat_body(Generation("model", messages), "generic")["messages"]
    assert mixed["content"] == [
        {"type": "image_url", "image_url": {"url": "data:a"}},
        {"type": "text", "text": "Añd"},
        {"type": "image_url", "image_url": {"url": "data:b", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "data:c"}},
        {"type": "text", "text": " s"},
        {"type": "image_url", "image_url": {"url": "data:d"}},
        {"type": "text", "text": "o"},
    ]
    assert alone == {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:a"}}]}


def test_recordings_keep_their_position_in_the_text() -> None:
    content = (TextPart("A"), AudioPart("UklG", "wav", 5), ImagePart("data:a"), AudioPart("//uQ", "mp3"))
    (sent,) = chat_body(Generation("model", (Message("user", content),)), "generic")["messages"]
    assert sent["content"] == [
        {"type": "text", "text": "A"},
        {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
        {"type": "image_url", "image_url": {"url": "data:a"}},
        {"type": "input_audio", "input_audio": {"data": "//uQ", "format": "mp3"}},
    ]


def test_tools_are_sent_in_the_nested_form() -> None:
    body = chat_body(ask("hi", tools=TOOLS), "generic")
    assert body["tool_choice"] == "auto"
    assert body["tools"][0]["function"]["parameters"] == TOOLS[0].parameters
    assert body["tools"][1] == {
        "type": "function",
        "function": {"name": "b", "parameters": {"type": "object", "properties": {}}},
    }


def test_only_the_tool_chosen_by_name_is_sent() -> None:
    body = chat_body(ask("hi", tools=TOOLS, tool_choice=NamedTool("b")), "generic")
    assert [tool["function"]["name"] for tool in body["tools"]] == ["b"]
    assert body["tool_choice"] == "required"


def test_texts_without_an_image_are_sent_as_one_string() -> None:
    content = (TextPart("a"), TextPart(""), TextPart("b"))
    (message,) = chat_body(Generation("model", (Message("user", content),)), "generic")["messages"]
    assert message["content"] == "ab"


@pytest.mark.parametrize("name", ["none", "auto", "required"])
def test_a_chosen_tool_may_have_the_name_of_a_mode(name: str) -> None:
    generation = ask("hi", tools=(*TOOLS, Tool(name)), tool_choice=NamedTool(name))
    for body in (chat_body(generation, "generic"), llama_body(generation, "generic")):
        assert [tool["function"]["name"] for tool in body["tools"]] == [name]
        assert body["tool_choice"] == "required"
    flat = responses_body(chat_body(generation, "generic"))
    assert ([tool["name"] for tool in flat["tools"]], flat["tool_choice"]) == ([name], "required")


def test_without_tools_no_choice_is_sent() -> None:
    assert "tool_choice" not in chat_body(ask("hi", tool_choice="required"), "generic")


def test_tools_are_not_sent_if_they_must_not_be_called() -> None:
    body = chat_body(ask("hi", tools=TOOLS, tool_choice="none"), "generic")
    assert not {"tools", "tool_choice"} & set(body)


def test_translation_languages_are_in_the_content_and_in_the_template_arguments() -> None:
    body = llama_body(ask("Hallo", target_lang_code="fr"), "translategemma_template")
    (part,) = body["messages"][0]["content"]
    assert (part["source_lang_code"], part["target_lang_code"]) == ("en", "fr")
    assert body["chat_template_kwargs"] == {"source_lang_code": "en", "target_lang_code": "fr"}


SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def test_a_format_is_sent_in_the_form_of_each_api() -> None:
    form = JsonFormat(SCHEMA, "n", "d", strict=True)
    body = chat_body(ask("hi", output_format=form), "generic")
    named = {"name": "n", "description": "d", "schema": SCHEMA, "strict": True}
    assert body["response_format"] == {"type": "json_schema", "json_schema": named}
    assert responses_body(body)["text"] == {"format": {"type": "json_schema", **named}}
    plain = chat_body(ask("hi", output_format=JsonFormat()), "generic")
    assert plain["response_format"] == {"type": "json_object"}
    assert responses_body(plain)["text"] == {"format": {"type": "json_object"}}


def test_no_format_is_sent_when_the_answer_has_to_be_a_call() -> None:
    fields = {"tools": TOOLS, "output_format": JsonFormat(SCHEMA)}
    assert "response_format" not in chat_body(ask("hi", tool_choice="required", **fields), "generic")
    assert "response_format" not in chat_body(ask("hi", tool_choice=NamedTool("b"), **fields), "generic")
    assert "response_format" in chat_body(ask("hi", **fields), "generic")


def test_strict_tools_and_single_calls_are_sent_as_such() -> None:
    tools = (Tool("a", None, SCHEMA, strict=True), Tool("b"))
    body = chat_body(ask("hi", tools=tools, parallel_tool_calls=False), "generic")
    assert [tool["function"].get("strict") for tool in body["tools"]] == [True, None]
    assert body["parallel_tool_calls"] is False
    flat = responses_body(body)
    assert ([tool["strict"] for tool in flat["tools"]], flat["parallel_tool_calls"]) == ([True, False], False)
    assert "parallel_tool_calls" not in chat_body(ask("hi", parallel_tool_calls=False), "generic")
