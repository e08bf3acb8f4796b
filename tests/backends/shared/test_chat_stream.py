"""A streamed answer, cut anywhere, becomes deltas."""

from __future__ import annotations

import orjson
import pytest

from backends.base import GenerationError
from backends.shared.chat_stream import ChatParser, events
from streams.events import Delta, ReasoningDelta, TextDelta, ToolCallDelta, Usage

USAGE = {"prompt_tokens": 9, "completion_tokens": 7}


def chunk(delta: dict[str, object] | None = None, **more: object) -> bytes:
    choices = (
        [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": more.pop("finish", None)}]
    )
    return orjson.dumps({"choices": choices, **more})


def told(*chunks: bytes) -> tuple[list[Delta], ChatParser]:
    deltas: list[Delta] = []
    stream = ChatParser(deltas.append)
    for data in chunks:
        stream.take(data)
    return deltas, stream


def test_events_come_out_whole_wherever_the_body_is_cut() -> None:
    first = ': ping\n\ndata: {"a":"ü🔥"}\n\n'.encode()
    body = first + b'event: x\ndata:{"b":2}\r\n\r\nerror: {"c":3}\n\ndata: [DONE]\n\n'
    expected = ['{"a":"ü🔥"}'.encode(), b'{"b":2}', b'{"c":3}', b"[DONE]"]
    for size in range(1, len(body) + 1):
        assert list(events(body[i : i + size] for i in range(0, len(body), size))) == expected


def test_an_event_that_is_not_complete_is_not_told() -> None:
    assert list(events([b"data: 1\n\ndata: 2"])) == [b"1"]


def test_text_and_reasoning_are_kept_apart_and_counted() -> None:
    deltas, stream = told(
        chunk({"role": "assistant", "content": None}),
        chunk({"reasoning_content": "I think"}),
        chunk({"content": "4"}),
        chunk({}, finish="stop"),
        chunk(usage=USAGE | {"prompt_tokens_details": {"cached_tokens": 5}}),
        b"[DONE]",
    )
    assert deltas == [ReasoningDelta("I think"), TextDelta("4")]
    assert stream.reason == "stop"
    assert stream.usage == Usage(9, 7, 5, 1)


def test_a_tool_call_keeps_its_index_and_names_itself_once() -> None:
    first = {"index": 1, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}
    second = {"index": 1, "function": {"arguments": "{}"}}
    deltas, stream = told(
        chunk({"tool_calls": [first]}), chunk({"tool_calls": [second]}), chunk({}, finish="tool_calls")
    )
    assert deltas == [ToolCallDelta(1, "", "a", "f"), ToolCallDelta(1, "{}")]
    assert stream.reason == "tool_calls"


def test_what_servers_call_by_other_names_is_the_same() -> None:
    """vLLM's thoughts, OpenAI's refusals and count of thoughts, Azure's chunks without a delta."""
    deltas, stream = told(
        orjson.dumps({"choices": [], "error": None, "prompt_filter_results": []}),
        chunk({"reasoning": "I think"}),
        chunk({"content": None, "refusal": "no"}),
        orjson.dumps({"choices": [{"index": 0, "content_filter_offsets": {}}]}),
        chunk({}, finish="content_filter"),
        chunk(usage=USAGE | {"completion_tokens_details": {"reasoning_tokens": 5}}),
    )
    assert deltas == [ReasoningDelta("I think"), TextDelta("no")]
    assert stream.reason == "content_filter"
    assert stream.usage.reasoning_tokens == 5


@pytest.mark.parametrize("more", [{}, {"choices": None}])
def test_usage_may_come_without_a_choice(more: dict[str, object]) -> None:
    """Gateways that leave out what is empty; others write null for it."""
    _, stream = told(
        chunk({"content": "a"}, finish="stop"), orjson.dumps({**more, "usage": USAGE}), b"[DONE]"
    )
    assert (stream.reason, stream.usage) == ("stop", Usage(9, 7))


def test_a_chunk_whose_choices_are_null_says_nothing() -> None:
    deltas, stream = told(chunk({"content": "a"}), b'{"choices": null}', chunk({}, finish="stop"))
    assert (deltas, stream.reason) == ([TextDelta("a")], "stop")


def test_thoughts_and_text_may_be_parts_of_the_content() -> None:
    """Mistral's, while its model thinks; then its content is text."""

    def thought(said: str) -> dict[str, object]:
        return {"type": "thinking", "thinking": [{"type": "text", "text": said}]}

    deltas, stream = told(
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": [thought("I "), thought("")]}),
        chunk({"content": [thought("think"), {"type": "text", "text": "4"}]}),
        chunk({"content": [{"type": "reference", "reference_ids": [0]}]}),
        chunk({"content": "2"}),
        chunk({"content": ""}, finish="stop"),
    )
    assert deltas == [ReasoningDelta("I "), ReasoningDelta("think"), TextDelta("4"), TextDelta("2")]
    assert stream.usage == Usage(0, 4, 0, 2)


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (rb"a\ud83d", "a\ufffd"),
        (rb"\ude00b", "\ufffdb"),
        (rb"\uD83D\uDE00\uD83D", "\U0001f600\ufffd"),
        (rb"\ude00\ud83d\ude00", "\ufffd\U0001f600"),
    ],
)
def test_half_a_letter_does_not_cost_the_answer(sent: bytes, read: str) -> None:
    """Proxies that cut text by 16 bits halve letters beyond them."""
    deltas, _ = told(b'{"choices": [{"delta": {"content": "' + sent + b'"}}]}', chunk({}, finish="stop"))
    assert deltas == [TextDelta(read)]


@pytest.mark.parametrize(
    "content", [["a"], [{"text": "a"}], [{"type": "text", "text": 1}], [{"type": "thinking"}], {}]
)
def test_content_that_is_neither_text_nor_parts_is_unreadable(content: object) -> None:
    with pytest.raises(GenerationError, match="cannot be read"):
        told(chunk({"content": content}))


def test_calls_of_the_same_number_are_told_apart_by_their_ids() -> None:
    def call(arguments: str, id: str | None = None, index: int | None = 0) -> bytes:
        name = "f" if id else None
        function = {"name": name, "arguments": arguments}
        return chunk({"tool_calls": [{"index": index, "id": id, "function": function}]})

    deltas, _ = told(
        call("{", "a"),
        call("}"),
        call("{", "b"),
        call("}"),
        call("[", "b"),
        call("]", index=None),
        call("", "c", 7),
    )
    assert [delta.index for delta in deltas if isinstance(delta, ToolCallDelta)] == [0, 0, 1, 1, 1, 1, 7]


@pytest.mark.parametrize(
    ("told_usage", "usage"),
    [
        ({"prompt_tokens": "9"}, Usage(0, 7)),
        ({"prompt_tokens": 1 << 60}, Usage(2**31 - 1, 7)),
        ({"completion_tokens": -1}, Usage(9, 1)),
        ({"prompt_tokens_details": {"cached_tokens": True}}, Usage(9, 7)),
    ],
)
def test_a_count_that_is_none_is_not_believed(told_usage: dict[str, object], usage: Usage) -> None:
    _, stream = told(chunk({"content": "a"}), chunk(usage=USAGE | told_usage))
    assert stream.usage == usage


def test_the_timings_tell_what_was_cached_when_the_usage_does_not() -> None:
    _, stream = told(chunk(usage=USAGE, timings={"cache_n": 8}))
    assert stream.usage.cached_tokens == 8


def test_an_answer_cut_short_counts_what_was_seen() -> None:
    progress = {"total": 20, "cache": 12, "processed": 12}
    _, stream = told(chunk({"content": None}, prompt_progress=progress), chunk({"content": "a"}))
    assert stream.usage == Usage(20, 1, 12, 0)
    assert stream.reason is None


@pytest.mark.parametrize("data", [b'{"error": {"code": 500}}', b"{", b"[]", b'{"choices": [1]}', b"7", b"{}"])
def test_what_is_an_error_or_cannot_be_read_fails_the_generation(data: bytes) -> None:
    with pytest.raises(GenerationError) as caught:
        told(data)
    assert caught.value.code == "engine_error"


@pytest.mark.parametrize("reason", ["error", "abort"])
def test_an_answer_that_the_server_gave_up_has_not_come_to_its_end(reason: str) -> None:
    with pytest.raises(GenerationError, match="failed while it answered"):
        told(chunk({"content": "a"}), chunk({}, finish=reason))


def test_an_error_of_whoever_takes_the_deltas_is_his_own() -> None:
    def refuse(_delta: Delta) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        ChatParser(refuse).take(chunk({"content": "a"}))


@pytest.mark.parametrize("index", [-1, 10**30, 1.5, "0", True])
def test_a_call_with_a_number_that_is_none_is_unreadable(index: object) -> None:
    chunk = {"choices": [{"delta": {"tool_calls": [{"index": index, "id": "a", "function": {"name": "f"}}]}}]}
    with pytest.raises(GenerationError, match="cannot be read"):
        ChatParser(lambda _delta: None).take(
            orjson.dumps(chunk)
            if index != 10**30
            else b'{"choices":[{"delta":{"tool_calls":[{"index":1e30}]}}]}'
        )


def test_progress_that_is_no_number_counts_nothing() -> None:
    stream = ChatParser(lambda _delta: None)
    stream.take(b'{"choices":[],"prompt_progress":{"total":"x","cache":null}}')
    assert (stream.usage.input_tokens, stream.usage.cached_tokens) == (0, 0)
