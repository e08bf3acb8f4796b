"""Anthropic's Messages: what a request becomes, and what it answers; with Anthropic's SDK, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from flask.testing import FlaskClient

from api.http import sse
from api.inference.dialects.base import ResponseMetadata
from api.inference.messages import dialect as anthropic_messages
from api.inference.messages.schema import MessageObject
from generation.generation import Generation, ImagePart, Message, NamedTool, TextPart, ToolCall
from store.limit_state import LimitState
from streams.events import End, Event, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from tests.api.conftest import KEY
from tests.support.api_fakes import Fakes
from tests.support.pictures import data_url, png
from tests.support.rendering import render_stream

ASK: dict[str, Any] = {"model": "demo", "max_tokens": 7, "messages": [{"role": "user", "content": "Hi"}]}
TOOL = {"name": "f", "description": "it", "input_schema": {"type": "object", "properties": {}}}
ANSWER: list[Event] = [
    ReasoningDelta("h"),
    ReasoningDelta("m"),
    TextDelta("a"),
    TextDelta("b"),
    ToolCallDelta(0, '{"x"', "c1", "f"),
    ToolCallDelta(0, ": 1}"),
    ToolCallDelta(1, "", None, "g"),
    End("completed", "tool_calls", usage=Usage(9, 5, 4, 2)),
]


def generation_of(fakes: Fakes) -> Generation:
    return Generation.from_json(fakes.ledger.only().generation)


def messages_of(http: FlaskClient, fakes: Fakes, body: dict[str, Any]) -> tuple[Message, ...]:
    assert http.post("/v1/messages", json=ASK | body).status_code == 200
    return generation_of(fakes).messages


@pytest.fixture
def claude(port: int) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(
        base_url=f"http://127.0.0.1:{port}", api_key=KEY, max_retries=0, _strict_response_validation=True
    ) as client:
        yield client


def test_a_request_becomes_a_generation(http: FlaskClient, fakes: Fakes) -> None:
    body = {
        "system": [{"type": "text", "text": "Be"}, {"type": "text", "text": " brief.", "cache_control": {}}],
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["a", "b"],
        "tools": [TOOL, {**TOOL, "type": "custom", "name": "g"}],
        "tool_choice": {"type": "tool", "name": "g"},
        "top_k": 3,
        "thinking": {"type": "adaptive"},
        "metadata": {"user_id": "u"},
    }
    assert http.post("/v1/messages", json=ASK | body).status_code == 200
    asked = generation_of(fakes)
    assert [message.role for message in asked.messages] == ["system", "user"]
    assert asked.messages[0].text == "Be brief."
    sampling = asked.sampling
    assert (sampling.max_tokens, sampling.temperature, sampling.top_p) == (7, 0.5, 0.9)
    assert (sampling.stop, sampling.top_k) == (("a", "b"), 3)
    assert [(tool.name, tool.parameters) for tool in asked.tools] == [
        ("f", TOOL["input_schema"]),
        ("g", TOOL["input_schema"]),
    ]
    assert (asked.tool_choice, asked.thinking) == (NamedTool("g"), "default")


@pytest.mark.parametrize(
    ("choice", "expected"), [("auto", "auto"), ("any", "required"), ("none", "none"), (None, "auto")]
)
def test_a_choice_of_tools_has_the_meaning_of_the_platforms(
    http: FlaskClient, fakes: Fakes, choice: str | None, expected: str
) -> None:
    given = None if choice is None else {"type": choice, "disable_parallel_tool_use": False}
    http.post("/v1/messages", json=ASK | {"tools": [TOOL], "tool_choice": given})
    assert generation_of(fakes).tool_choice == expected


@pytest.mark.parametrize(("length", "status"), [(128, 200), (129, 400)])
def test_the_name_of_a_tool_has_up_to_128_characters(http: FlaskClient, length: int, status: int) -> None:
    name = "mcp__".ljust(length, "a")
    of_openai = {"type": "function", "name": name, "parameters": TOOL["input_schema"]}
    for path, body in (
        ("/v1/messages", ASK | {"tools": [TOOL | {"name": name}]}),
        ("/v1/responses", {"model": "demo", "input": "Hi", "tools": [of_openai]}),
    ):
        assert http.post(path, json=body).status_code == status


def test_calls_and_their_results_become_messages_of_their_own(http: FlaskClient, fakes: Fakes) -> None:
    messages = [
        {"role": "user", "content": "Go"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "I call."},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": 1}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [{"type": "text", "text": "no"}],
                    "is_error": True,
                },
                {"type": "text", "text": "And?"},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c2"}]},
    ]
    assert messages_of(http, fakes, {"messages": messages}) == (
        Message("user", (TextPart("Go"),)),
        Message(
            "assistant", (TextPart("I call."),), reasoning="hm", tool_calls=(ToolCall("c1", "f", '{"x":1}'),)
        ),
        Message("tool", (TextPart("The call failed: "), TextPart("no")), tool_call_id="c1"),
        Message("user", (TextPart("And?"),)),
        Message("tool", (), tool_call_id="c2"),
    )


def test_images_and_documents_of_text_are_read(http: FlaskClient, fakes: Fakes) -> None:
    url = data_url(png(2, 3))
    media_type, _, data = url.removeprefix("data:").partition(";base64,")
    document = {
        "type": "document",
        "title": "T",
        "source": {"type": "text", "media_type": "text/plain", "data": "D"},
    }
    source = {"type": "base64", "media_type": media_type, "data": data}
    content = [{"type": "image", "source": source}, document]
    fakes.ledger.script = [*ANSWER]
    answer = http.post("/v1/messages", json=ASK | {"messages": [{"role": "user", "content": content}]})
    assert answer.status_code == 400  # this model takes text only
    assert answer.get_json()["error"]["param"] == "messages[0].content[0]"
    parsed = anthropic_messages.parse(ASK | {"messages": [{"role": "user", "content": content}]})
    assert parsed.generation.messages[0].content == (ImagePart(url), TextPart("T\nD"))


def test_documents_of_blocks_become_their_texts_and_images() -> None:
    url = data_url(png(2, 3))
    image = {"type": "base64", "media_type": "image/png", "data": url.partition(",")[2]}
    blocks: list[dict[str, Any]] = [{"type": "text", "text": "D"}, {"type": "image", "source": image}]
    source = {"type": "content", "content": blocks}
    document = {"type": "document", "title": "T", "context": "C", "source": source}
    content = [document, {"type": "document", "source": {"type": "content", "content": "E"}}]
    parsed = anthropic_messages.parse(ASK | {"messages": [{"role": "user", "content": content}]})
    expected = (TextPart("T\nC\n"), TextPart("D"), ImagePart(url), TextPart("E"))
    assert parsed.generation.messages[0].content == expected
    assert parsed.image_params == ("messages[0].content[0].source.content[1]",)


def test_documents_in_the_result_of_a_call_become_its_text(http: FlaskClient, fakes: Fakes) -> None:
    texts = {"type": "content", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    plain = {"type": "text", "media_type": "text/plain", "data": "D"}
    parts = [
        {"type": "document", "title": "T", "source": plain},
        {"type": "document", "source": texts},
    ]
    result = {"type": "tool_result", "tool_use_id": "c", "content": parts}
    (message,) = messages_of(http, fakes, {"messages": [{"role": "user", "content": [result]}]})
    assert message == Message("tool", (TextPart("T\nD"), TextPart("a"), TextPart("b")), tool_call_id="c")


def test_images_in_the_result_of_a_call_follow_the_results() -> None:
    url = data_url(png(2, 3))
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": url.partition(",")[2]},
    }
    results = [
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "seen"}, image]},
        {"type": "tool_result", "tool_use_id": "b", "content": [image], "is_error": True},
    ]
    content = [*results, {"type": "text", "text": "And?"}]
    parsed = anthropic_messages.parse(ASK | {"messages": [{"role": "user", "content": content}]})
    intro = "The images in the result of the call {}:\n"
    assert parsed.generation.messages == (
        Message("tool", (TextPart("seen"),), tool_call_id="a"),
        Message("tool", (TextPart("The call failed: "),), tool_call_id="b"),
        Message(
            "user",
            (
                TextPart(intro.format("a")),
                ImagePart(url),
                TextPart(intro.format("b")),
                ImagePart(url),
                TextPart("And?"),
            ),
        ),
    )
    assert parsed.image_params == ("messages[0].content[0].content[1]", "messages[0].content[1].content[0]")


def test_documents_of_addresses_are_refused(http: FlaskClient) -> None:
    document = {"type": "document", "source": {"type": "url", "url": "http://x/a.pdf"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [document]}
    for block, param in ((document, "source.type"), (result, "content[0].source.type")):
        answer = http.post("/v1/messages", json=ASK | {"messages": [{"role": "user", "content": [block]}]})
        error = answer.get_json()["error"]
        assert (answer.status_code, error["code"]) == (400, "unsupported_input")
        assert error["param"] == f"messages[0].content[0].{param}"


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"max_tokens": None}, "max_tokens", "invalid_request"),
        ({"messages": []}, "messages", "invalid_request"),
        (
            {
                "model": "org/plain",
                "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
            },
            "output_config.format",
            "unsupported_parameter",
        ),
        ({"service_tier": 1}, "service_tier", "invalid_request"),
        ({"cache_control": {"type": "ephemeral", "tag": "a b"}}, "cache_control.tag", "invalid_request"),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 1023}, "max_tokens": 2000},
            "thinking.budget_tokens",
            "invalid_request",
        ),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 2000},
            "thinking.budget_tokens",
            "invalid_request",
        ),
        (
            {
                "tools": [{"type": "web_search_20250305", "name": "w"}, {"name": "f", "input_schema": {}}],
                "tool_choice": {"type": "tool", "name": "w"},
            },
            "tool_choice",
            "invalid_request",
        ),
        ({"tool_choice": {"type": "any"}}, "tool_choice", "invalid_request"),
        (
            {
                "messages": [
                    {
                        "role": "assistant",
                        "content": [
                            {
                                "type": "image",
                                "source": {"type": "base64", "media_type": "image/png", "data": ""},
                            }
                        ],
                    }
                ]
            },
            "messages[0].content[0].type",
            "invalid_request",
        ),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
                ]
            },
            "messages[0].content[0].type",
            "invalid_request",
        ),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "image", "source": {"type": "url", "url": "http://x"}}],
                    }
                ]
            },
            "messages[0].content[0].source.type",
            "unsupported_input",
        ),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {
                                "type": "image",
                                "source": {"type": "base64", "media_type": "image/png", "data": "%"},
                            }
                        ],
                    }
                ]
            },
            "messages[0].content[0].source",
            "invalid_request",
        ),
    ],
)
def test_a_field_that_cannot_be_honoured_is_refused_with_its_path(
    http: FlaskClient, fields: dict[str, Any], param: str, code: str
) -> None:
    answer = http.post("/v1/messages", json=ASK | fields)
    error = answer.get_json()
    assert (answer.status_code, error["type"]) == (400, "error")
    assert (error["error"]["type"], error["error"]["param"]) == ("invalid_request_error", param)
    assert error["error"]["code"] == code
    assert error["request_id"] == answer.headers["request-id"]


@pytest.mark.parametrize("choice", [None, {"type": "auto"}, {"type": "none"}])
def test_a_tool_of_anthropics_servers_is_left_out_and_named(
    http: FlaskClient, fakes: Fakes, choice: Any
) -> None:
    tools = [{"type": "web_search_20250305", "name": "w"}, TOOL, {"type": "bash_20250124", "name": "bash"}]
    answer = http.post("/v1/messages", json=ASK | {"tools": tools, "tool_choice": choice})
    assert (answer.status_code, [tool.name for tool in generation_of(fakes).tools]) == (200, ["f"])
    assert answer.headers["X-Ignored-Tools"] == "web_search_20250305, bash_20250124"


def test_an_answer_has_no_header_of_tools_when_all_are_offered(http: FlaskClient) -> None:
    assert "X-Ignored-Tools" not in http.post("/v1/messages", json=ASK | {"tools": [TOOL]}).headers


def test_more_than_128_tools_are_offered(http: FlaskClient, fakes: Fakes) -> None:
    tools = [TOOL | {"name": f"f{number}"} for number in range(1000)]
    assert http.post("/v1/messages", json=ASK | {"tools": tools}).status_code == 200
    assert len(generation_of(fakes).tools) == 1000
    many = [TOOL | {"name": f"f{number}"} for number in range(1025)]
    assert http.post("/v1/messages", json=ASK | {"tools": many}).get_json()["error"]["param"] == "tools"


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_has_only_the_fields_of_anthropics(http: FlaskClient, fakes: Fakes, stream: bool) -> None:
    fakes.ledger.script = [*ANSWER]
    body = http.post("/v1/messages", json=ASK | {"stream": stream}).get_data(as_text=True)
    assert "[DONE]" not in body
    values = [line[6:] for line in body.splitlines() if line.startswith("data: ")] if stream else [body]
    nulls = {path for value in values for path in null_paths(json.loads(value))}
    assert nulls <= {"stop_sequence", "message.stop_sequence", "message.stop_reason", "delta.stop_sequence"}
    if stream:
        assert json.loads(values[-1])["type"] == "message_stop"


def null_paths(value: Any, path: str = "") -> Iterator[str]:
    """The paths of all members that are null."""
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, member in members:
        at = f"{path}.{key}" if path else str(key)
        yield from [at] if member is None else null_paths(member, at)


def test_an_answer_that_an_sdk_sends_back_with_all_its_nulls_is_read(
    claude: anthropic.Anthropic, fakes: Fakes
) -> None:
    fakes.ledger.script = [*ANSWER]
    answer = claude.messages.create(**ASK)
    blocks = [block.model_dump(exclude_unset=False) for block in answer.content]
    assert any(value is None for block in blocks for value in block.values())
    results = [{"type": "tool_result", "tool_use_id": block["id"]} for block in blocks if "input" in block]
    history = [
        *ASK["messages"],
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": results},
    ]
    claude.messages.create(**ASK | {"messages": history})
    asked = Generation.from_json(list(fakes.ledger.jobs.values())[-1].generation).messages
    assert (asked[1].text, asked[1].reasoning, len(asked[1].tool_calls)) == ("ab", "hm", 2)


def test_blocks_of_tools_of_anthropics_servers_are_left_out_of_the_assistants_messages(
    http: FlaskClient, fakes: Fakes
) -> None:
    blocks = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "text", "text": "Found."},
        {"type": "a block of the year 2030", "text": 5},
    ]
    history = [
        *ASK["messages"],
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": "And?"},
    ]
    assert [message.text for message in messages_of(http, fakes, {"messages": history})] == [
        "Hi",
        "Found.",
        "And?",
    ]


def test_search_results_and_tool_references_are_read_as_texts(http: FlaskClient, fakes: Fakes) -> None:
    found = {
        "type": "search_result",
        "source": "a.md",
        "title": "A",
        "content": [{"type": "text", "text": "x"}],
    }
    reference = {"type": "tool_reference", "tool_name": "look"}
    content = [{"type": "tool_result", "tool_use_id": "1", "content": [found, reference]}, found]
    tool, user = messages_of(http, fakes, {"messages": [{"role": "user", "content": content}]})
    assert [part.text for part in tool.content if isinstance(part, TextPart)] == ["A\na.md\nx", "look"]
    assert user.text == "A\na.md\nx"


def test_an_unknown_block_of_the_user_is_refused(http: FlaskClient) -> None:
    content = [{"type": "container_upload", "file_id": "x"}]
    answer = http.post("/v1/messages", json=ASK | {"messages": [{"role": "user", "content": content}]})
    error = answer.get_json()["error"]
    assert (error["code"], error["param"]) == ("unsupported_input", "messages[0].content[0].type")


def test_errors_below_the_path_have_the_form_of_anthropic(http: FlaskClient, fakes: Fakes) -> None:
    for answer, status, kind in (
        (http.post("/v1/messages", json=ASK | {"model": "other"}), 404, "not_found_error"),
        (http.post("/v1/messages/later", json={}), 404, "not_found_error"),
        (http.get("/v1/messages"), 405, "invalid_request_error"),
        (
            http.post("/v1/messages", json=ASK, headers={"Authorization": "Bearer x"}),
            401,
            "authentication_error",
        ),
        (http.post("/v1/messages", data=b"{", content_type="application/json"), 400, "invalid_request_error"),
    ):
        assert (answer.status_code, answer.get_json()["error"]["type"]) == (status, kind)
        assert answer.get_json()["type"] == "error"
    fakes.ledger.script = [End("failed", code="engine_crashed", message="it crashed")]
    answer = http.post("/v1/messages", json=ASK)
    assert (answer.status_code, answer.get_json()["error"]["type"]) == (502, "api_error")
    assert http.post("/v1/messagesx", json={}).get_json()["error"]["type"] == "invalid_request_error"


def test_the_sdk_gets_a_whole_answer(claude: anthropic.Anthropic, fakes: Fakes) -> None:
    fakes.ledger.script = [*ANSWER]
    message = claude.messages.create(**ASK)
    assert MessageObject().validate(json.loads(message.model_dump_json(exclude_unset=True))) == {}
    thinking, text, call, other = message.content
    assert (thinking.type, thinking.thinking, thinking.signature) == ("thinking", "hm", "unsigned")
    assert (text.type, text.text) == ("text", "ab")
    assert (call.type, call.id, call.name, call.input) == ("tool_use", "c1", "f", {"x": 1})
    assert other.id.startswith("toolu_")
    assert (message.stop_reason, message.stop_sequence) == ("tool_use", None)
    usage = message.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (5, 4, 5)
    assert usage.output_tokens_details is not None
    assert usage.output_tokens_details.thinking_tokens == 2
    assert message._request_id is not None


def test_the_sdk_assembles_a_stream_to_the_whole_answer(claude: anthropic.Anthropic, fakes: Fakes) -> None:
    fakes.ledger.script = [*ANSWER]
    whole = claude.messages.create(**ASK)
    with claude.messages.stream(**ASK) as stream:
        assembled = stream.get_final_message()
    left_out = {"id", "content"}
    assert assembled.model_dump(exclude=left_out) == whole.model_dump(exclude=left_out)
    kept = {"type", "text", "thinking", "signature", "name", "input"}
    assert [block.model_dump(include=kept) for block in assembled.content] == [
        block.model_dump(include=kept) for block in whole.content
    ]


def test_reasoning_ends_with_its_signature_in_a_stream(claude: anthropic.Anthropic, fakes: Fakes) -> None:
    fakes.ledger.script = [ReasoningDelta("hm"), TextDelta("a"), End("completed")]
    events = list(claude.messages.create(**ASK, stream=True))
    deltas = [event.delta.type for event in events if event.type == "content_block_delta"]
    assert deltas == ["thinking_delta", "signature_delta", "text_delta"]
    assert [event.type for event in events].index("content_block_stop") == 4


def test_the_sdk_raises_what_ends_a_stream(claude: anthropic.Anthropic, fakes: Fakes) -> None:
    fakes.ledger.script = [TextDelta("a"), End("failed", code="engine_crashed", message="it crashed")]
    with pytest.raises(anthropic.APIError, match="it crashed"):
        list(claude.messages.create(**ASK, stream=True))


def test_the_sdk_raises_the_class_of_each_error(claude: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError, match="other"):
        claude.messages.create(**ASK | {"model": "other"})
    with pytest.raises(anthropic.AuthenticationError):
        claude.with_options(api_key="wrong").messages.create(**ASK)


def test_errors_of_shared_paths_have_the_form_of_anthropic_when_its_sdk_asks(
    claude: anthropic.Anthropic, http: FlaskClient
) -> None:
    for path in ("/v1/models/other", "/v1/none"):
        with pytest.raises(anthropic.NotFoundError) as raised:
            claude.get(path, cast_to=object)
        body: Any = raised.value.body
        assert (body["type"], body["error"]["type"]) == ("error", "not_found_error")
        assert "request_id" in body
        assert http.get(path).get_json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (End("completed", "stop"), "end_turn"),
        (End("completed", "stop", stop_sequence="###"), "stop_sequence"),
        (End("incomplete", "length"), "max_tokens"),
        (End("incomplete", "content_filter"), "refusal"),
    ],
)
def test_the_reason_of_the_stop_is_one_of_anthropics(
    http: FlaskClient, fakes: Fakes, end: End, reason: str
) -> None:
    fakes.ledger.script = [TextDelta("a"), end]
    message = http.post("/v1/messages", json=ASK).get_json()
    assert (message["stop_reason"], message["stop_sequence"]) == (reason, end.stop_sequence)


def test_a_stream_names_the_sequence_that_stopped_it(claude: anthropic.Anthropic, fakes: Fakes) -> None:
    fakes.ledger.script = [TextDelta("a"), End("completed", "stop", stop_sequence="###")]
    with claude.messages.stream(**ASK, stop_sequences=["###"]) as stream:
        message = stream.get_final_message()
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "###")


@pytest.mark.parametrize("arguments", ['{"x": ', "[1]", "x"])
def test_arguments_that_are_no_object_are_passed_on_as_text(arguments: str) -> None:
    events = [ToolCallDelta(0, arguments, "c", "f"), End("incomplete", "length")]
    metadata = ResponseMetadata("msg_1", 1, "demo", {})
    (block,) = anthropic_messages.response_object(metadata, events)["content"]
    assert block["input"] == {"INVALID_JSON": arguments}


def test_the_shortcut_for_texts_writes_what_render_writes() -> None:
    metadata = ResponseMetadata("msg_1", 1, "demo", {})
    events: list[Event] = [
        ReasoningDelta("r"),
        TextDelta("a"),
        TextDelta('b"\n'),
        TextDelta("c"),
        End("completed"),
    ]
    slow = sse.encode(render_stream(anthropic_messages.stream_renderer(metadata), events))
    renderer = anthropic_messages.stream_renderer(metadata)
    fast = sse.encode(renderer.begin())
    for event in events:
        quick = renderer.render_text(event.text) if isinstance(event, TextDelta) else b""
        fast += quick or sse.encode(renderer.render(event))
    assert fast == slow
    assert renderer.render_text("") == b""


def test_the_limits_of_the_tenant_are_in_anthropics_headers(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.limits = (LimitState("requests", 10, 4, 2.5),)
    headers = http.post("/v1/messages", json=ASK).headers
    assert headers["anthropic-ratelimit-requests-limit"] == "10"
    assert headers["anthropic-ratelimit-requests-remaining"] == "4"
    assert headers["anthropic-ratelimit-requests-reset"].endswith("Z")
    assert "x-ratelimit-limit-requests" not in headers
