"""The parser of a streamed chat completion: its events become deltas."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from backends.base import GenerationError
from backends.shared.chat_stream import ChatParser
from streams.events import (
    Delta,
    ReasoningDelta,
    ScoredTextDelta,
    TextDelta,
    TokenLogprob,
    ToolCallDelta,
    Usage,
)
from tests.backends.shared.event_bodies import body_of

USAGE = {"prompt_tokens": 9, "completion_tokens": 7}


def chunk(delta: dict[str, object] | None = None, **more: object) -> bytes:
    choices = (
        [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": more.pop("finish", None)}]
    )
    return orjson.dumps({"choices": choices, **more})


def parse(*chunks: bytes) -> tuple[list[Delta], ChatParser]:
    deltas: list[Delta] = []
    parser = ChatParser(deltas.append)
    for data in chunks:
        parser.feed(body_of(data))
    return deltas, parser


def test_text_and_reasoning_are_separate_deltas_and_counted() -> None:
    deltas, parser = parse(
        chunk({"role": "assistant", "content": None}),
        chunk({"reasoning_content": "I think"}),
        chunk({"content": "4"}),
        chunk({}, finish="stop"),
        chunk(usage=USAGE | {"prompt_tokens_details": {"cached_tokens": 5}}),
        b"[DONE]",
    )
    assert deltas == [ReasoningDelta("I think"), TextDelta("4")]
    assert parser.reason == "stop"
    assert parser.usage == Usage(9, 7, 5, 1)


def test_a_tool_call_keeps_its_index_and_has_its_name_once() -> None:
    first = {"index": 1, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}
    second = {"index": 1, "function": {"arguments": "{}"}}
    deltas, parser = parse(
        chunk({"tool_calls": [first]}), chunk({"tool_calls": [second]}), chunk({}, finish="tool_calls")
    )
    assert deltas == [ToolCallDelta(1, "", "a", "f"), ToolCallDelta(1, "{}")]
    assert parser.reason == "tool_calls"


def test_field_names_of_other_servers_are_read() -> None:
    """vLLM's reasoning, OpenAI's refusals and reasoning tokens, Azure's chunks without a delta."""
    deltas, parser = parse(
        orjson.dumps({"choices": [], "error": None, "prompt_filter_results": []}),
        chunk({"reasoning": "I think"}),
        chunk({"content": None, "refusal": "no"}),
        orjson.dumps({"choices": [{"index": 0, "content_filter_offsets": {}}]}),
        chunk({}, finish="content_filter"),
        chunk(usage=USAGE | {"completion_tokens_details": {"reasoning_tokens": 5}}),
    )
    assert deltas == [ReasoningDelta("I think"), TextDelta("no")]
    assert parser.reason == "content_filter"
    assert parser.usage.reasoning_tokens == 5


@pytest.mark.parametrize("more", [{}, {"choices": None}])
def test_usage_may_come_without_a_choice(more: dict[str, object]) -> None:
    """Some gateways leave out an empty list, others send null."""
    _, parser = parse(
        chunk({"content": "a"}, finish="stop"), orjson.dumps({**more, "usage": USAGE}), b"[DONE]"
    )
    assert (parser.reason, parser.usage) == ("stop", Usage(9, 7))


def test_a_chunk_with_null_choices_is_ignored() -> None:
    deltas, parser = parse(chunk({"content": "a"}), b'{"choices": null}', chunk({}, finish="stop"))
    assert (deltas, parser.reason) == ([TextDelta("a")], "stop")


def test_reasoning_and_text_may_be_content_parts() -> None:
    """Mistral's content has parts while its model thinks, then text."""

    def thinking(text: str) -> dict[str, object]:
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}

    deltas, parser = parse(
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": [thinking("I "), thinking("")]}),
        chunk({"content": [thinking("think"), {"type": "text", "text": "4"}]}),
        chunk({"content": [{"type": "reference", "reference_ids": [0]}]}),
        chunk({"content": "2"}),
        chunk({"content": ""}, finish="stop"),
    )
    assert deltas == [ReasoningDelta("I "), ReasoningDelta("think"), TextDelta("4"), TextDelta("2")]
    assert parser.usage == Usage(0, 4, 0, 2)


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (rb"a\ud83d", "a\ufffd"),
        (rb"\ude00b", "\ufffdb"),
        (rb"\uD83D\uDE00\uD83D", "\U0001f600\ufffd"),
        (rb"\ude00\ud83d\ude00", "\ufffd\U0001f600"),
    ],
)
def test_a_lone_surrogate_becomes_a_replacement_character(sent: bytes, read: str) -> None:
    """Proxies that cut text by UTF-16 units split surrogate pairs."""
    deltas, _ = parse(b'{"choices": [{"delta": {"content": "' + sent + b'"}}]}', chunk({}, finish="stop"))
    assert deltas == [TextDelta(read)]


@pytest.mark.parametrize(
    "content", [["a"], [{"text": "a"}], [{"type": "text", "text": 1}], [{"type": "thinking"}], {}]
)
def test_content_that_is_neither_text_nor_parts_fails_the_generation(content: object) -> None:
    with pytest.raises(GenerationError, match="cannot be read"):
        parse(chunk({"content": content}))


def test_tool_calls_with_the_same_index_are_distinguished_by_their_ids() -> None:
    def call(arguments: str, id: str | None = None, index: int | None = 0) -> bytes:
        name = "f" if id else None
        function = {"name": name, "arguments": arguments}
        return chunk({"tool_calls": [{"index": index, "id": id, "function": function}]})

    deltas, _ = parse(
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
    ("reported", "usage"),
    [
        ({"prompt_tokens": "9"}, Usage(0, 7)),
        ({"prompt_tokens": 1 << 60}, Usage(2**31 - 1, 7)),
        ({"completion_tokens": -1}, Usage(9, 1)),
        ({"prompt_tokens_details": {"cached_tokens": True}}, Usage(9, 7)),
    ],
)
def test_an_invalid_token_count_is_ignored(reported: dict[str, object], usage: Usage) -> None:
    _, parser = parse(chunk({"content": "a"}), chunk(usage=USAGE | reported))
    assert parser.usage == usage


def test_cached_tokens_come_from_the_timings_if_the_usage_has_none() -> None:
    _, parser = parse(chunk(usage=USAGE, timings={"cache_n": 8}))
    assert parser.usage.cached_tokens == 8


def test_an_incomplete_answer_counts_its_pieces() -> None:
    progress = {"total": 20, "cache": 12, "processed": 12}
    _, parser = parse(chunk({"content": None}, prompt_progress=progress), chunk({"content": "a"}))
    assert parser.usage == Usage(20, 1, 12, 0)
    assert parser.reason is None


@pytest.mark.parametrize("data", [b'{"error": {"code": 500}}', b"{", b"[]", b'{"choices": [1]}', b"7", b"{}"])
def test_an_error_or_a_malformed_event_fails_the_generation(data: bytes) -> None:
    with pytest.raises(GenerationError) as caught:
        parse(data)
    assert caught.value.code == "engine_error"


@pytest.mark.parametrize("reason", ["error", "abort"])
def test_a_failure_reason_fails_the_generation(reason: str) -> None:
    with pytest.raises(GenerationError, match="failed while it answered"):
        parse(chunk({"content": "a"}), chunk({}, finish=reason))


def test_the_text_of_several_events_is_one_delta_and_every_event_counts_as_a_token() -> None:
    deltas: list[Delta] = []
    parser = ChatParser(deltas.append)
    parser.feed(body_of(chunk({"content": "a"}), chunk({"content": "b"}), b"[DONE]", chunk({"content": "c"})))
    assert (deltas, parser.usage.output_tokens, parser.done) == ([TextDelta("ab")], 2, True)


@pytest.mark.parametrize(
    "last", [b"{", b'{"error":{"message":"no"}}', chunk({"content": "c"}, finish="error")]
)
def test_an_event_that_fails_leaves_the_deltas_before_it(last: bytes) -> None:
    deltas: list[Delta] = []
    with pytest.raises(GenerationError):
        ChatParser(deltas.append).feed(body_of(chunk({"content": "a"}), chunk({"content": "b"}), last))
    assert deltas == [TextDelta("ab")]


def test_an_error_in_emit_is_raised_unchanged() -> None:
    def fail(_delta: Delta) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        ChatParser(fail).feed(body_of(chunk({"content": "a"})))


@pytest.mark.parametrize("index", [-1, 10**30, 1.5, "0", True])
def test_a_tool_call_with_an_invalid_index_fails_the_generation(index: object) -> None:
    chunk = {"choices": [{"delta": {"tool_calls": [{"index": index, "id": "a", "function": {"name": "f"}}]}}]}
    with pytest.raises(GenerationError, match="cannot be read"):
        ChatParser(lambda _delta: None).feed(
            body_of(
                orjson.dumps(chunk)
                if index != 10**30
                else b'{"choices":[{"delta":{"tool_calls":[{"index":1e30}]}}]}'
            )
        )


def test_invalid_prompt_progress_is_ignored() -> None:
    parser = ChatParser(lambda _delta: None)
    parser.feed(body_of(b'{"choices":[],"prompt_progress":{"total":"x","cache":null}}'))
    assert (parser.usage.input_tokens, parser.usage.cached_tokens) == (0, 0)


def test_log_probabilities_belong_to_the_text_that_their_tokens_complete() -> None:
    deltas: list[Delta] = []
    parser = ChatParser(deltas.append, alternatives=1)

    def entry(token: str, data: list[int]) -> dict[str, Any]:
        alternative = {"token": token, "bytes": data, "logprob": -0.5}
        return {**alternative, "top_logprobs": [alternative, alternative]}

    def scored(delta: dict[str, str], *entries: dict[str, Any]) -> bytes:
        return orjson.dumps({"choices": [{"delta": delta, "logprobs": {"content": entries}}]})

    parser.feed(body_of(scored({"reasoning_content": "hm"}, entry("hm", [104, 109]))))
    parser.feed(body_of(scored({}, entry("\ufffd", [195])), scored({"content": "é"}, entry("\ufffd", [169]))))
    parser.feed(body_of(scored({}, entry("<|end|>", [60]))))
    first, second = (
        TokenLogprob("\ufffd", -0.5, bytes([byte]), (TokenLogprob("\ufffd", -0.5, bytes([byte])),))
        for byte in (195, 169)
    )
    assert deltas == [ReasoningDelta("hm"), ScoredTextDelta("é", (first, second))]


@pytest.mark.parametrize(
    "entry", [{}, {"token": "a"}, {"token": "a", "logprob": "x"}, {"token": 1, "logprob": 0}]
)
def test_malformed_log_probabilities_end_the_answer(entry: dict[str, Any]) -> None:
    parser = ChatParser(lambda _delta: None)
    event = {"choices": [{"delta": {"content": "a"}, "logprobs": {"content": [entry]}}]}
    with pytest.raises(GenerationError):
        parser.feed(body_of(orjson.dumps(event)))


def test_text_that_lags_gets_its_own_tokens_and_none_behind_its_end() -> None:
    def sent(text: str, *tokens: str, reason: str | None = None) -> bytes:
        entries = [{"token": token, "logprob": -0.5} for token in tokens]
        choice = {"delta": {"content": text}, "logprobs": {"content": entries}, "finish_reason": reason}
        return orjson.dumps({"choices": [choice]})

    deltas: list[Delta] = []
    parser = ChatParser(deltas.append, text_lags=True)
    for event in (sent("", "One"), sent("On", " two"), sent("e", " end", "<|end|>", reason="stop")):
        parser.feed(body_of(event))
    scored = [delta for delta in deltas if isinstance(delta, ScoredTextDelta)]
    assert [(delta.text, [token.token for token in delta.tokens]) for delta in scored] == [("On", ["One"])]
    assert deltas[-1] == TextDelta("e")


def test_log_probabilities_of_a_completion_are_read() -> None:
    deltas: list[Delta] = []
    logprobs = {
        "tokens": ["a", "b"],
        "token_logprobs": [-2.0, -0.5],
        "top_logprobs": [{"a": -2.0, "x": -0.25, "y": -1.0}, None],
    }
    event = {"choices": [{"text": "ab", "logprobs": logprobs}]}
    ChatParser(deltas.append, alternatives=2).feed(body_of(orjson.dumps(event)))
    top = (TokenLogprob("x", -0.25), TokenLogprob("y", -1.0))
    assert deltas == [ScoredTextDelta("ab", (TokenLogprob("a", -2.0, None, top), TokenLogprob("b", -0.5)))]
