"""Ollama's dialects: what a request becomes, and what it answers, as lines and as a whole."""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

import orjson
import pytest
from flask.testing import FlaskClient

from api.inference.dialects.base import ResponseMetadata
from api.inference.ollama import chat as ollama_chat
from api.inference.ollama import generate as ollama_generate
from api.inference.ollama.schema import OllamaAnswer, OllamaChatRequest, OllamaGenerateRequest
from config.settings import ModelDefinition, Settings
from generation.generation import Generation, JsonFormat
from streams.events import (
    End,
    Event,
    ReasoningDelta,
    ScoredTextDelta,
    TextDelta,
    TokenLogprob,
    ToolCallDelta,
    Usage,
)
from tests.support.api_fakes import Fakes
from tests.support.pictures import DOT
from tests.support.rendering import render_stream

CHAT = {"model": "demo", "messages": [{"role": "user", "content": "Hi"}]}
TEXT = {"model": "demo", "prompt": "Hi"}
USAGE = Usage(7, 2)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    pictures = ModelDefinition("pictures", "stub", options={"stub_image_input": True})
    return replace(settings, models={**settings.models, "pictures": pictures})


SCRIPT: list[Event] = [
    ReasoningDelta("Hm"),
    TextDelta("Hel"),
    TextDelta("lo"),
    ToolCallDelta(0, id="c1", name="weather"),
    ToolCallDelta(0, '{"city":'),
    ToolCallDelta(0, ' "Oslo"}'),
    End("completed", finish_reason="stop", usage=USAGE, queue_ms=4, run_ms=50, first_ms=20),
]


def generation_of(fakes: Fakes) -> Generation:
    return Generation.from_json(fakes.ledger.only().generation)


def lines_of(answer: Any) -> list[dict[str, Any]]:
    assert answer.content_type == "application/x-ndjson"
    return [orjson.loads(line) for line in answer.data.splitlines()]


def test_a_chat_streams_lines_that_together_are_the_whole_answer(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [*SCRIPT]
    lines = lines_of(http.post("/api/chat", json=CHAT))
    whole = http.post("/api/chat", json=CHAT | {"stream": False}).get_json()
    assert OllamaAnswer().validate(whole) == {}
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    messages = [line["message"] for line in lines]
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    assert whole["message"] == {
        "role": "assistant",
        "content": "".join(message["content"] for message in messages),
        "thinking": "".join(message.get("thinking", "") for message in messages),
        "tool_calls": calls,
    }
    assert (whole["message"]["content"], whole["message"]["thinking"]) == ("Hello", "Hm")
    assert calls == [{"function": {"index": 0, "name": "weather", "arguments": {"city": "Oslo"}}}]
    ended = {key: value for key, value in whole.items() if key not in ("message", "created_at")}
    assert ended == {key: value for key, value in lines[-1].items() if key in ended}
    assert (ended["done_reason"], ended["prompt_eval_count"], ended["eval_count"]) == ("stop", 7, 2)
    durations = {name: value for name, value in ended.items() if name.endswith("_duration")}
    assert durations == {
        "total_duration": 54_000_000,
        "load_duration": 4_000_000,
        "prompt_eval_duration": 20_000_000,
        "eval_duration": 30_000_000,
    }


def test_a_generated_text_is_the_same_as_lines_and_as_a_whole(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [TextDelta("Hel"), TextDelta("lo"), End("incomplete", "length", usage=USAGE)]
    lines = lines_of(http.post("/api/generate", json=TEXT))
    whole = http.post("/api/generate", json=TEXT | {"stream": False}).get_json()
    assert whole["response"] == "".join(line["response"] for line in lines) == "Hello"
    assert whole["done_reason"] == lines[-1]["done_reason"] == "length"


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (End("completed", "content_filter"), "content_filter"),
        (End("incomplete", "content_filter"), "content_filter"),
        (End("completed", "tool_calls"), "stop"),
    ],
)
def test_the_reason_of_the_end_is_shown(end: End, reason: str) -> None:
    metadata = ResponseMetadata("ollama-1", 0, "demo", {})
    assert ollama_chat.response_object(metadata, [end])["done_reason"] == reason


def test_the_time_to_the_first_output_is_left_out_when_it_is_not_known() -> None:
    metadata = ResponseMetadata("ollama-1", 0, "demo", {})
    whole = ollama_chat.response_object(metadata, [TextDelta("Hi"), End("completed", "stop", run_ms=5)])
    assert "prompt_eval_duration" not in whole
    assert whole["eval_duration"] == 5_000_000


def test_a_stream_that_fails_ends_with_a_line_of_the_error(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [TextDelta("Hel"), End("failed", code="engine_crashed", message="it crashed")]
    last = lines_of(http.post("/api/chat", json=CHAT))[-1]
    assert (last["error"], last["code"]) == ("it crashed", "engine_crashed")
    whole = http.post("/api/chat", json=CHAT | {"stream": False})
    assert whole.status_code >= 500
    assert whole.get_json()["error"] == "it crashed"


def test_options_become_the_sampling_of_the_generation(http: FlaskClient, fakes: Fakes) -> None:
    options = {"num_predict": 5, "temperature": 0, "top_p": 0.5, "seed": 3, "stop": ["a"], "num_ctx": 4096}
    body = CHAT | {"model": "demo:latest", "options": options, "keep_alive": "5m", "stream": False}
    assert http.post("/api/chat", json=body).get_json()["model"] == "demo"
    asked = generation_of(fakes)
    sampling = asked.sampling
    assert (asked.model, sampling.max_tokens, sampling.temperature) == ("demo", 5, 0)
    assert (sampling.top_p, sampling.seed, sampling.stop) == (0.5, 3, ("a",))


def test_log_probabilities_are_in_the_lines_and_in_the_whole_answer(http: FlaskClient, fakes: Fakes) -> None:
    begun = TokenLogprob("Hi", -0.5, top=(TokenLogprob("Hi", -0.5), TokenLogprob("Ho", -1.5)))
    rest = TokenLogprob("\ufffd", -2.0, data=b"\xc3")
    fakes.ledger.script = [
        ReasoningDelta("Hm"),
        ScoredTextDelta("Hi", (begun,)),
        ScoredTextDelta("", (rest,)),
        End("completed", "stop", usage=USAGE),
    ]
    for path, body in (("chat", CHAT), ("generate", TEXT)):
        asked = body | {"logprobs": True, "top_logprobs": 2}
        lines = lines_of(http.post(f"/api/{path}", json=asked))
        whole = http.post(f"/api/{path}", json=asked | {"stream": False}).get_json()
        assert OllamaAnswer().validate(whole) == {}
        assert [len(line.get("logprobs", ())) for line in lines] == [0, 1, 1, 0]
        assert whole["logprobs"] == [token for line in lines for token in line.get("logprobs", ())]
        assert [token["token"] for token in whole["logprobs"][0]["top_logprobs"]] == ["Hi", "Ho"]
        assert whole["logprobs"][1]["bytes"] == [0xC3]


@pytest.mark.parametrize(
    ("fields", "asked"),
    [({"logprobs": True}, 0), ({"logprobs": True, "top_logprobs": 3}, 3), ({"top_logprobs": 3}, None)],
)
def test_alternatives_are_asked_for_with_log_probabilities_alone(
    http: FlaskClient, fakes: Fakes, fields: dict[str, Any], asked: int | None
) -> None:
    http.post("/api/chat", json=CHAT | fields)
    assert generation_of(fakes).sampling.top_logprobs == asked


def test_no_limit_is_set_by_a_num_predict_below_one(http: FlaskClient, fakes: Fakes) -> None:
    http.post("/api/generate", json=TEXT | {"options": {"num_predict": -1}})
    assert generation_of(fakes).sampling.max_tokens is None


@pytest.mark.parametrize(
    ("option", "field", "asked"),
    [
        ({"num_predict": 0.5}, "max_tokens", None),
        ({"num_predict": 12.7}, "max_tokens", 12),
        ({"num_predict": 1e30}, "max_tokens", 2**31 - 1),
        ({"num_predict": -100}, "max_tokens", None),
        ({"top_k": -1}, "top_k", 0),
        ({"top_k": 40.9}, "top_k", 40),
        ({"top_p": -1}, "top_p", 0),
        ({"top_p": 1.5}, "top_p", 1),
        ({"min_p": 7}, "min_p", 1),
        ({"temperature": -0.5}, "temperature", 0),
        ({"temperature": 5}, "temperature", 2),
        ({"seed": -1}, "seed", None),
        ({"seed": 0}, "seed", 0),
        ({"seed": 7.9}, "seed", 7),
        ({"seed": -1e30}, "seed", -(2**63)),
        ({"repeat_penalty": 0}, "repetition_penalty", None),
        ({"repeat_penalty": -1.1}, "repetition_penalty", None),
        ({"repeat_penalty": 0.0001}, "repetition_penalty", 0.01),
        ({"presence_penalty": 9}, "presence_penalty", 2),
        ({"frequency_penalty": -9}, "frequency_penalty", -2),
        ({"stop": ["", "a", ""]}, "stop", ("a",)),
        ({"stop": ""}, "stop", ()),
        ({"stop": [str(number) for number in range(20)]}, "stop", tuple(map(str, range(20)))),
        (dict.fromkeys(("num_predict", "seed", "stop", "top_k", "num_ctx", "repeat_penalty")), "seed", None),
        (None, "seed", None),
    ],
)
def test_an_option_of_any_value_of_ollamas_is_taken_in_its_range(
    http: FlaskClient, fakes: Fakes, option: dict[str, Any] | None, field: str, asked: object
) -> None:
    answer = http.post("/api/generate", json=TEXT | {"options": option, "stream": False})
    assert answer.status_code == 200
    assert getattr(generation_of(fakes).sampling, field) == asked


PARAMETERS = {
    "type": "object",
    "properties": {"a": None, "b": {"type": "string", "enum": None, "default": None, "items": None}},
    "required": None,
    "$defs": None,
}


@pytest.mark.parametrize(
    "tool",
    [
        {"function": {"name": "f", "description": None, "parameters": None}},
        {"type": None, "function": {"name": "f"}},
        {"type": "", "function": {"name": "f", "parameters": {"properties": None}}},
        {"type": "function", "function": {"name": "f", "parameters": PARAMETERS}},
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "anyOf": None}}},
    ],
)
def test_a_tool_is_taken_without_its_type_and_with_nulls(
    http: FlaskClient, fakes: Fakes, tool: dict[str, Any]
) -> None:
    answer = http.post("/api/chat", json=CHAT | {"tools": [tool], "stream": False})
    assert answer.status_code == 200
    (asked,) = generation_of(fakes).tools
    assert asked.name == "f"
    assert asked.parameters is None or None not in asked.parameters.values()
    if asked.parameters and "properties" in asked.parameters:
        kept = {"a": {}, "b": {"type": "string", "default": None}}
        assert asked.parameters["properties"] == kept


def test_every_field_may_be_null_but_the_model(http: FlaskClient) -> None:
    for path, schema in (("chat", OllamaChatRequest), ("generate", OllamaGenerateRequest)):
        body = dict.fromkeys(schema().fields) | {"model": "demo", "stream": False}
        assert http.post(f"/api/{path}", json=body).get_json()["done_reason"] == "load"
        assert http.post(f"/api/{path}", json=body | (CHAT if path == "chat" else TEXT)).status_code == 200


def test_roles_are_read_in_capitals_and_developer_is_system(http: FlaskClient, fakes: Fakes) -> None:
    messages = [{"role": "Developer", "content": "Be brief."}, {"role": "USER", "content": "Hi"}]
    http.post("/api/chat", json={"model": "demo", "messages": messages})
    assert [message.role for message in generation_of(fakes).messages] == ["system", "user"]


@pytest.mark.parametrize(
    ("think", "thinking", "effort"),
    [
        (True, "enabled", None),
        (False, "disabled", None),
        (None, "default", None),
        ("low", "enabled", "low"),
        ("max", "enabled", "high"),
    ],
)
def test_every_form_of_think_is_taken(
    http: FlaskClient, fakes: Fakes, think: object, thinking: str, effort: str | None
) -> None:
    assert http.post("/api/chat", json=CHAT | {"think": think, "stream": False}).status_code == 200
    assert (generation_of(fakes).thinking, generation_of(fakes).reasoning_effort) == (thinking, effort)


@pytest.mark.parametrize(
    "written",
    [
        lambda text: "\n".join(text[start : start + 20] for start in range(0, len(text), 20)),
        lambda text: "\r\n".join(text[start : start + 76] for start in range(0, len(text), 76)) + "\r\n",
        lambda text: "\n " + text.rstrip("="),
        lambda text: "data:image/png;base64," + text[:10] + "\t\f" + text[10:],
    ],
)
def test_an_image_in_base64_of_several_lines_is_read(
    http: FlaskClient, fakes: Fakes, written: Callable[[str], str]
) -> None:
    plain = DOT.partition(",")[2]
    message = {"role": "user", "content": "Hi", "images": [written(plain)]}
    body = {"model": "pictures", "messages": [message], "stream": False}
    assert http.post("/api/chat", json=body).status_code == 200
    (image,) = generation_of(fakes).messages[0].images
    assert image.url == DOT


@pytest.mark.parametrize("text", ["iVBORw0KGgo\nA=A=", "iVBORw0KGgo\u00e4", "iVBORw0KGgo-_"])
def test_an_image_of_invalid_base64_is_refused(http: FlaskClient, text: str) -> None:
    answer = http.post("/api/generate", json={"model": "pictures", "prompt": "Hi", "images": [text]})
    assert (answer.status_code, answer.get_json()["param"]) == (400, "images[0]")


@pytest.mark.parametrize("zero", [0, 0.0, -0.0, "0", "0s", "0.0m", "0h0m0s", "-0ms", "+0", "00us"])
def test_every_duration_of_zero_asks_to_unload(http: FlaskClient, zero: object) -> None:
    answer = http.post("/api/generate", json={"model": "demo", "keep_alive": zero})
    assert (answer.status_code, answer.get_json()["param"]) == (400, "keep_alive")
    assert http.post("/api/generate", json=TEXT | {"keep_alive": zero, "stream": False}).status_code == 200


@pytest.mark.parametrize("given", [-1, "-1m", "5m", 300, "1h30m", "0.5s", None, "", 1.5, "10m0s"])
def test_every_other_duration_is_ignored(http: FlaskClient, given: object) -> None:
    answer = http.post("/api/generate", json={"model": "demo", "keep_alive": given})
    assert answer.get_json()["done_reason"] == "load"


def test_a_result_answers_the_open_call_of_its_function(http: FlaskClient, fakes: Fakes) -> None:
    calls = [{"function": {"name": name, "arguments": {"x": 1}}} for name in ("one", "two")]
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "", "thinking": "Hm", "tool_calls": calls},
        {"role": "tool", "content": "2", "tool_name": "two"},
        {"role": "tool", "content": "1"},
    ]
    http.post("/api/chat", json=CHAT | {"messages": messages})
    _, asked, *results = generation_of(fakes).messages
    assert asked.reasoning == "Hm"
    assert [call.arguments for call in asked.tool_calls] == ['{"x":1}'] * 2
    assert [result.tool_call_id for result in results] == [call.id for call in reversed(asked.tool_calls)]


def test_results_are_matched_in_time_proportional_to_their_number() -> None:
    def conversation(calls: int) -> dict[str, Any]:
        asked = [{"id": f"c{at}", "function": {"name": f"f{at}"}} for at in range(calls)]
        results = [{"role": "tool", "content": "", "tool_call_id": f"c{at}"} for at in reversed(range(calls))]
        asking = [{"role": "assistant", "tool_calls": asked[at : at + 100]} for at in range(0, calls, 100)]
        return {"model": "demo", "messages": asking + results}

    def count_lines(calls: int) -> int:
        body, lines = conversation(calls), 0

        def count(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal lines
            lines += event == "line"
            return count if "inference" in frame.f_code.co_filename else None

        sys.settrace(count)
        try:
            ollama_chat.parse(body)
        finally:
            sys.settrace(None)
        return lines

    assert count_lines(1000) < 11 * count_lines(100)


def test_an_amount_of_thinking_asks_for_it_where_a_model_has_the_switch(
    http: FlaskClient, fakes: Fakes
) -> None:
    asked = []
    for model in ("demo", "org/plain"):
        http.post("/api/chat", json=CHAT | {"model": model, "think": "low", "stream": False})
        asked.append(generation_of(fakes))
        fakes.ledger.jobs.clear()
    assert [(one.thinking, one.reasoning_effort) for one in asked] == [("enabled", "low"), ("default", "low")]


def test_a_raw_prompt_is_continued_as_it_is(http: FlaskClient, fakes: Fakes) -> None:
    body = TEXT | {"raw": True, "think": False}
    given = dict(body)
    ollama_generate.parse(body)
    assert body == given
    http.post("/api/generate", json=body)
    asked = generation_of(fakes)
    assert (asked.prompt, asked.messages) == ("Hi", ())


def test_a_system_text_and_a_format_are_part_of_the_generation(http: FlaskClient, fakes: Fakes) -> None:
    http.post("/api/generate", json=TEXT | {"system": "Be brief.", "format": "json"})
    asked = generation_of(fakes)
    assert [(message.role, message.text) for message in asked.messages] == [
        ("system", "Be brief."),
        ("user", "Hi"),
    ]
    assert asked.output_format == JsonFormat()


def test_an_image_in_base64_becomes_a_data_url_with_its_type() -> None:
    image = DOT.partition(",")[2]
    message = {"role": "user", "content": "What is it?", "images": [image]}
    for parsed, param in (
        (ollama_chat.parse({"model": "demo", "messages": [message]}), "messages[0].images[0]"),
        (ollama_generate.parse({"model": "demo", "prompt": "Hi", "images": [image]}), "images[0]"),
    ):
        assert [picture.url for picture in parsed.generation.messages[0].images] == [DOT]
        assert parsed.image_params == (param,)


def test_a_call_that_the_end_cuts_is_left_out() -> None:
    metadata = ResponseMetadata("ollama-1", 0, "demo", {})
    events: list[Event] = [ToolCallDelta(0, '{"ci', id="c", name="weather"), End("incomplete", "length")]
    frames = list(render_stream(ollama_chat.stream_renderer(metadata), events))
    whole = ollama_chat.response_object(metadata, events)
    assert [frame for _, frame in frames] == [whole]
    assert whole["message"] == {"role": "assistant", "content": ""}


@pytest.mark.parametrize("arguments", ['{"city": Oslo}', "[1]"])
def test_a_whole_call_is_text_when_its_arguments_are_no_object(arguments: str) -> None:
    metadata = ResponseMetadata("ollama-1", 0, "demo", {})
    call = ToolCallDelta(0, arguments, id="c", name="weather")
    events: list[Event] = [TextDelta("Well: "), call, End("completed", "tool_calls")]
    frames = list(render_stream(ollama_chat.stream_renderer(metadata), events))
    whole = ollama_chat.response_object(metadata, events)["message"]
    text = orjson.dumps({"name": "weather", "arguments": arguments}).decode()
    assert whole == {"role": "assistant", "content": f"Well: {text}"}
    assert "".join(frame["message"]["content"] for _, frame in frames) == whole["content"]


@pytest.mark.parametrize(
    ("path", "fields", "param"),
    [
        ("chat", {"stream": "yes"}, "stream"),
        ("chat", {"think": "much"}, "think"),
        ("chat", {"format": "xml"}, "format"),
        ("chat", {"messages": [], "keep_alive": 0}, "keep_alive"),
        ("chat", {"messages": [{"role": "system", "images": ["x"]}]}, "messages[0].images"),
        ("chat", {"messages": [{"role": "user", "images": ["x"]}]}, "messages[0].images[0]"),
        ("generate", {"images": [base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()]}, "images[0]"),
        ("generate", {"template": "x"}, "template"),
        ("generate", {"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ("generate", {"raw": True, "system": "x"}, "system"),
        ("generate", {"options": {"temperature": "hot"}}, "options.temperature"),
        ("generate", {"options": {"top_k": True}}, "options.top_k"),
        ("generate", {"options": {"stop": ["a"] * 65}}, "options.stop"),
        ("chat", {"tools": [{"type": "function"}]}, "tools[0].function"),
    ],
)
def test_a_wrong_field_is_refused_in_ollamas_form(
    http: FlaskClient, fakes: Fakes, path: str, fields: dict[str, Any], param: str
) -> None:
    answer = http.post(f"/api/{path}", json=(CHAT if path == "chat" else TEXT) | fields)
    body = answer.get_json()
    assert (answer.status_code, body["param"]) == (400, param)
    assert isinstance(body["error"], str)
    assert not fakes.ledger.jobs
