"""Tools of the Responses API that are not plain functions: in namespaces, custom, and those left out."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai._models import validate_type
from openai.types.responses import Response, ResponseStreamEvent

from api.http.errors import InvalidRequest
from api.http.strict_schema import SchemaMismatch
from api.inference.dialects.base import ParsedRequest, ResponseMetadata
from api.inference.dialects.message_fields import MAX_TOOLS
from api.inference.responses import dialect as responses
from api.inference.responses.input_items import input_items
from api.inference.responses.schema import ResponsesRequest
from generation.generation import Message, NamedTool, ToolCall, text_content
from streams.events import End, Event, TextDelta, ToolCallDelta
from tests.support.rendering import render_stream

Json = dict[str, Any]

SHELL: Json = {"type": "function", "name": "shell", "parameters": {"type": "object"}}
PATCH: Json = {
    "type": "custom",
    "name": "apply_patch",
    "description": "Edits files.",
    "format": {"type": "grammar", "syntax": "lark", "definition": 'start: "x"'},
}
AGENTS: Json = {
    "type": "namespace",
    "name": "agents",
    "description": "Other agents.",
    "tools": [
        {"type": "function", "name": "spawn", "description": "Starts one.", "parameters": {"type": "object"}},
        {"type": "function", "name": "shell"},
        {"type": "custom", "name": "note"},
        {"type": "telepathy", "range": 3},
    ],
}
DECLARED = [SHELL, PATCH, AGENTS, {"type": "web_search", "external_web_access": False}]
OFFERED = ("shell", "apply_patch", "agents__spawn", "agents__shell", "agents__note")
HOSTED = (
    *("web_search", "web_search_preview", "web_search_preview_2025_03_11", "file_search"),
    *("code_interpreter", "image_generation", "computer", "computer_use_preview", "mcp", "local_shell"),
    *("shell", "apply_patch", "tool_search", "programmatic_tool_calling", "a tool of the year 2030"),
)


def parse(**body: Any) -> ParsedRequest:
    full = {"model": "demo", "input": "x", **body}
    ResponsesRequest.check(full)
    return responses.parse(full)


def metadata_of(parsed: ParsedRequest) -> ResponseMetadata:
    echo = orjson.loads(orjson.dumps(parsed.echo))  # as it is stored
    return ResponseMetadata("resp_" + "ab" * 16, 1_700_000_000, "demo", echo)


def rendered(tools: list[Json], log: list[Event]) -> tuple[list[Json], Json]:
    """The frames of a stream, and the response object; both fit the SDK's types."""
    metadata = metadata_of(parse(tools=tools))
    frames = [frame for _, frame in render_stream(responses.stream_renderer(metadata), log)]
    for frame in frames:
        event: Any = validate_type(type_=ResponseStreamEvent, value=frame)  # type: ignore[arg-type]
        assert event.type == frame["type"]
    whole = responses.response_object(metadata, log)
    validate_type(type_=Response, value=whole)
    assert frames[-1]["response"] == whole
    return frames, whole


def called(name: str, arguments: str = "{}") -> list[Event]:
    return [ToolCallDelta(0, arguments, "call_1", name), End("completed", "tool_calls")]


# ---- what the model is offered


def test_functions_of_namespaces_and_custom_tools_are_offered_as_functions() -> None:
    tools = {tool.name: tool for tool in parse(tools=DECLARED).generation.tools}
    assert tuple(tools) == OFFERED
    assert tools["agents__spawn"].description == "Starts one.\n\nagents: Other agents."
    assert tools["agents__spawn"].parameters == {"type": "object"}
    assert tools["agents__shell"].description is None
    assert tools["apply_patch"].description == (
        'Edits files.\n\nThe input fits this grammar (lark):\nstart: "x"'
    )
    assert tools["apply_patch"].parameters == {
        "type": "object",
        "properties": {"input": {"type": "string"}},
        "required": ["input"],
        "additionalProperties": False,
    }


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "a", "a__", "a__b", "n" * 128]),
            st.sampled_from(["a", "b", "a__b", "m" * 128]),
        ),
        unique=True,
        max_size=5,
    ),
    st.sampled_from(["function", "custom"]),
)
def test_each_tool_has_a_name_of_its_own_that_leads_back_to_it(
    pairs: list[tuple[str, str]], kind: str
) -> None:
    tools: list[Json] = []
    for namespace, name in pairs:
        tool = {"type": kind, "name": name}
        tools.append({"type": "namespace", "name": namespace, "tools": [tool]} if namespace else tool)
    offered = [tool.name for tool in parse(tools=tools).generation.tools]
    assert len(set(offered)) == len(pairs)
    assert all(len(name) <= 128 for name in offered)
    for (namespace, name), called_name in zip(pairs, offered, strict=True):
        [item] = rendered(tools, called(called_name))[1]["output"]
        assert (item.get("namespace", ""), item["name"]) == (namespace, name)


@pytest.mark.parametrize("kind", HOSTED)
@pytest.mark.parametrize("choice", [None, "auto", "none"])
def test_a_tool_of_another_type_is_left_out_and_named(kind: str, choice: str | None) -> None:
    parsed = parse(tools=[{"type": kind, "name": 5, "anything": [{}]}, SHELL], tool_choice=choice)
    assert [tool.name for tool in parsed.generation.tools] == ["shell"]
    assert parsed.ignored_tools == (kind,)
    assert [tool["type"] for tool in parsed.echo["tools"]] == ["function"]


def test_types_of_tools_that_are_left_out_are_named_once_each_also_in_namespaces() -> None:
    parsed = parse(tools=[*DECLARED, {"type": "web_search"}, {"type": "mcp", "server_label": "x"}])
    assert parsed.ignored_tools == ("telepathy", "web_search", "mcp")
    assert parse(tools=[SHELL]).ignored_tools == ()


@pytest.mark.parametrize(
    "tool", [{"type": "web_search"}, {"type": "namespace", "name": "a", "tools": [{"type": "telepathy"}]}]
)
def test_a_request_has_no_tools_when_all_are_left_out(tool: Json) -> None:
    parsed = parse(tools=[tool])
    assert (parsed.generation.tools, parsed.generation.tool_choice) == ((), "auto")
    assert rendered([tool], [TextDelta("a"), End("completed")])[1]["tools"] == []


@pytest.mark.parametrize(
    ("tools", "path"),
    [
        ([{}], "tools[0].type"),
        ([{"type": 5}], "tools[0].type"),
        ([{"type": "custom"}], "tools[0].name"),
        ([{"type": "custom", "name": "a b"}], "tools[0].name"),
        ([{"type": "custom", "name": "a", "format": {"type": "grammar"}}], "tools[0].format.syntax"),
        ([{"type": "namespace", "name": "a"}], "tools[0].tools"),
        ([{"type": "namespace", "tools": []}], "tools[0].name"),
        ([{"type": "namespace", "name": "a", "tools": [{"type": "function"}]}], "tools[0].tools[0].name"),
        (
            [{"type": "namespace", "name": "a", "tools": [{**SHELL, "parameters": {"type": [5]}}]}],
            "tools[0].tools[0].parameters.type",
        ),
        ([{"type": "namespace", "name": "a", "tools": [SHELL] * MAX_TOOLS}, SHELL], "tools"),
        ([{"type": "mcp", "server_label": "x" * 300_000}], "tools"),
    ],
)
def test_a_malformed_tool_is_refused_with_its_path(tools: list[Json], path: str) -> None:
    with pytest.raises(SchemaMismatch) as caught:
        parse(tools=tools)
    assert caught.value.path == path


def test_tools_of_the_input_are_offered_besides_those_of_the_request() -> None:
    added = {"type": "additional_tools", "role": "developer", "tools": [AGENTS, {"type": "web_search"}]}
    parsed = parse(tools=[SHELL], input=[added, {"role": "user", "content": "x"}])
    assert [tool.name for tool in parsed.generation.tools] == ["shell", *OFFERED[2:]]
    assert [message.role for message in parsed.generation.messages] == ["user"]
    assert parsed.ignored_tools == ("telepathy", "web_search")
    assert [tool["type"] for tool in parsed.echo["tools"]] == ["function", "namespace"]


def test_tools_of_the_input_are_bounded_together_with_those_of_the_request() -> None:
    many = {"type": "additional_tools", "tools": [SHELL] * MAX_TOOLS}
    with pytest.raises(InvalidRequest, match=f"more than {MAX_TOOLS} items") as caught:
        parse(tools=[SHELL], input=[many, {"role": "user", "content": "x"}])
    assert caught.value.param == "input"
    wrong = {"type": "additional_tools", "tools": [{"type": "function"}]}
    with pytest.raises(SchemaMismatch) as mismatch:
        parse(input=[wrong])
    assert mismatch.value.path == "input[0].tools[0].name"


# ---- the choice


@pytest.mark.parametrize(
    ("choice", "name"),
    [
        ({"type": "function", "name": "shell"}, "shell"),
        ({"type": "function", "name": "shell", "namespace": "agents"}, "agents__shell"),
        ({"type": "function", "name": "spawn"}, "agents__spawn"),
        ({"type": "custom", "name": "apply_patch"}, "apply_patch"),
        ({"type": "custom", "name": "note", "namespace": "agents"}, "agents__note"),
    ],
)
def test_a_choice_names_the_tool_as_the_client_has_declared_it(choice: Json, name: str) -> None:
    assert parse(tools=DECLARED, tool_choice=choice).generation.tool_choice == NamedTool(name)


def test_allowed_tools_may_name_custom_tools_namespaces_and_tools_that_are_left_out() -> None:
    allowed = [
        {"type": "custom", "name": "apply_patch"},
        {"type": "namespace", "name": "agents"},
        {"type": "mcp", "server_label": "x"},
    ]
    choice = {"type": "allowed_tools", "mode": "required", "tools": allowed}
    generation = parse(tools=DECLARED, tool_choice=choice).generation
    assert generation.tool_choice == "required"
    assert tuple(tool.name for tool in generation.tools) == OFFERED[1:]


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "function", "name": "nothing"},
        {"type": "function", "name": "spawn", "namespace": "others"},
        {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "namespace", "name": "others"}]},
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "web_search"}]},
    ],
)
def test_a_choice_of_a_tool_that_is_not_offered_is_refused(choice: Json) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(tools=DECLARED, tool_choice=choice)
    assert caught.value.param == "tool_choice"


@pytest.mark.parametrize("kind", ["web_search_preview", "mcp", "shell", "apply_patch", "image_generation"])
def test_a_choice_that_demands_a_tool_that_is_left_out_is_refused(kind: str) -> None:
    with pytest.raises(SchemaMismatch) as caught:
        parse(tools=[SHELL, {"type": kind}], tool_choice={"type": kind})
    assert (caught.value.path, caught.value.code) == ("tool_choice", "unsupported_parameter")
    with pytest.raises(InvalidRequest, match="no tools"):
        parse(tools=[{"type": kind}], tool_choice="required")
    assert parse(tools=[SHELL, {"type": kind}], tool_choice="required").generation.tool_choice == "required"


# ---- what the model calls


def test_a_call_of_a_function_in_a_namespace_has_both_names_in_all_events() -> None:
    frames, whole = rendered(DECLARED, called("agents__spawn", '{"a":1}'))
    [item] = whole["output"]
    assert (item["type"], item["namespace"], item["name"]) == ("function_call", "agents", "spawn")
    assert item["arguments"] == '{"a":1}'
    items = [frame["item"] for frame in frames if "item" in frame]
    assert [(one["namespace"], one["name"]) for one in items] == [("agents", "spawn")] * 2
    [done] = [frame for frame in frames if frame["type"].endswith("arguments.done")]
    assert done["name"] == "spawn"


def test_a_name_without_its_namespace_is_understood_where_it_is_clear() -> None:
    assert rendered(DECLARED, called("spawn"))[1]["output"][0]["namespace"] == "agents"
    assert "namespace" not in rendered(DECLARED, called("shell"))[1]["output"][0]
    assert "namespace" not in rendered(DECLARED, called("unknown"))[1]["output"][0]


def test_a_call_of_a_custom_tool_is_streamed_as_text() -> None:
    log: list[Event] = [
        TextDelta("So:"),
        ToolCallDelta(0, '{"input": "*** Begin', "call_7", "apply_patch"),
        ToolCallDelta(0, " Patch\\"),
        ToolCallDelta(0, 'n"'),
        ToolCallDelta(0, "}"),
        End("completed", "tool_calls"),
    ]
    frames, whole = rendered(DECLARED, log)
    item = whole["output"][1]
    assert item == {
        "id": item["id"],
        "type": "custom_tool_call",
        "status": "completed",
        "call_id": "call_7",
        "name": "apply_patch",
        "input": "*** Begin Patch\n",
    }
    of_call = [frame for frame in frames if frame.get("output_index") == 1]
    assert [frame["type"].removeprefix("response.") for frame in of_call] == [
        "output_item.added",
        *["custom_tool_call_input.delta"] * 3,
        "custom_tool_call_input.done",
        "output_item.done",
    ]
    assert of_call[0]["item"]["input"] == ""
    assert "".join(frame["delta"] for frame in of_call[1:4]) == of_call[4]["input"] == item["input"]


@pytest.mark.parametrize("arguments", ["ls", '{"input": "cut o', '{"text": "x"}', ""])
def test_the_deltas_of_a_custom_call_add_up_to_its_input(arguments: str) -> None:
    frames, whole = rendered(DECLARED, [*called("apply_patch", arguments)[:1], End("incomplete", "length")])
    deltas = [frame["delta"] for frame in frames if frame["type"].endswith("input.delta")]
    assert "".join(deltas) == whole["output"][0]["input"]


# ---- what comes back


def test_calls_come_back_under_the_names_that_the_model_knows() -> None:
    generation = parse(
        tools=DECLARED,
        input=[
            {"role": "user", "content": "Go."},
            {
                "type": "function_call",
                "call_id": "1",
                "namespace": "agents",
                "name": "spawn",
                "arguments": "{}",
            },
            {
                "type": "custom_tool_call",
                "call_id": "2",
                "name": "apply_patch",
                "input": 'a"b',
                "status": "x",
            },
            {"type": "custom_tool_call_output", "call_id": "2", "output": "done"},
            {
                "type": "function_call_output",
                "call_id": "1",
                "output": [{"type": "input_text", "text": "up"}],
            },
        ],
    ).generation
    assert generation.messages[1:] == (
        Message(
            "assistant",
            tool_calls=(
                ToolCall("1", "agents__spawn", "{}"),
                ToolCall("2", "apply_patch", '{"input":"a\\"b"}'),
            ),
        ),
        Message("tool", text_content("done"), tool_call_id="2"),
        Message("tool", text_content("up"), tool_call_id="1"),
    )


def test_calls_come_back_without_the_tools_of_an_earlier_turn() -> None:
    call = {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "x"}
    generation = parse(input=[{"role": "user", "content": "hi"}, call]).generation
    assert generation.messages[1].tool_calls == (ToolCall("c1", "apply_patch", '{"input":"x"}'),)


def test_the_input_items_of_a_response_have_the_names_that_its_client_has_declared() -> None:
    sent = [
        {"type": "function_call", "call_id": "1", "namespace": "agents", "name": "spawn", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "2", "name": "apply_patch", "input": "x"},
        {"type": "function_call_output", "call_id": "1", "output": "up"},
        {"type": "custom_tool_call_output", "call_id": "2", "output": "done"},
    ]
    parsed = parse(tools=DECLARED, input=sent)
    listed = input_items(metadata_of(parsed), parsed.generation)
    assert [{key: item[key] for key in item if key not in ("id", "status")} for item in listed] == sent


@pytest.mark.parametrize(
    "item",
    [
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
        {
            "type": "local_shell_call",
            "call_id": "1",
            "action": {"type": "exec", "command": ["ls"], "env": {}},
        },
        {"type": "local_shell_call_output", "id": "1", "output": "a"},
        {"type": "file_search_call", "id": "fs_1", "queries": [], "status": "completed"},
        {"type": "computer_call_output", "call_id": "1", "output": {"type": "computer_screenshot"}},
        {"type": "image_generation_call", "id": "ig_1", "result": "aGk=", "status": "completed"},
        {"type": "tool_search_output", "tools": [{"type": "namespace"}]},
        {"type": "mcp_list_tools", "id": "1", "server_label": "x", "tools": []},
        {"type": "compaction_trigger"},
        {"type": "an item of the year 2030", "role": 5, "content": [[[]]]},
    ],
)
def test_an_item_of_another_type_is_left_out(item: Json) -> None:
    before, after = {"role": "user", "content": "a"}, {"role": "user", "content": "b"}
    messages = parse(input=[before, item, after]).generation.messages
    assert [message.text for message in messages] == ["a", "b"]


def test_items_of_other_types_count_towards_the_bound() -> None:
    with pytest.raises(SchemaMismatch, match="more than 10000 items"):
        parse(input=[{"type": "web_search_call"}] * 10_001)
