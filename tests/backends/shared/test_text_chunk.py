"""Chunks that differ in their text only are not parsed, and give what parsing them gives."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.base import GenerationError
from backends.shared.chat_stream import ChatParser
from backends.shared.text_chunk import MAX_MISSES, TextChunk
from streams.events import Delta, Usage
from tests.backends.shared.event_bodies import body_of

PIECES = st.one_of(
    st.sampled_from(["tok ", "a", 'say "no"', "C:\\x", "line\nbreak", "ü🔥", "\u2028", "\x7f", "\ud83d", ""]),
    st.text(max_size=6),
)
CHUNK = {"id": "c-1", "model": 'the "content":"x" model', "created": 1}


def choice(delta: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    body = {"index": 0, "delta": delta, "finish_reason": None} if delta is not None else {}
    return {**CHUNK, "choices": [{**body, **more}]}


def scored(text: str, *tokens: str) -> dict[str, Any]:
    entries = [{"token": token, "logprob": -1.0} for token in tokens or (text,)]
    return choice({"content": text}, logprobs={"content": entries})


CHUNKS = st.one_of(
    PIECES.map(lambda text: choice({"content": text})),
    PIECES.map(lambda text: choice({"content": text})),
    PIECES.map(lambda text: choice({"content": text}, logprobs=None)),
    PIECES.map(lambda text: {**choice({"content": text}), "usage": None}),
    PIECES.map(lambda text: {**choice({"content": text}), "usage": {"prompt_tokens": 3}}),
    PIECES.map(lambda text: {**choice({"content": text}), "created": 2}),
    PIECES.map(lambda text: choice({"content": text, "refusal": None})),
    PIECES.map(lambda text: choice({"content": text, "reasoning_content": "hm"})),
    PIECES.map(lambda text: choice({"reasoning": text})),
    PIECES.map(lambda text: choice(text=text)),
    PIECES.map(scored),
    PIECES.map(lambda text: choice({"content": text}, finish_reason="stop")),
    PIECES.map(lambda text: choice({"content": [{"type": "text", "text": text}]})),
    PIECES.map(lambda text: choice({"tool_calls": [{"index": 0, "id": "t", "function": {"name": text}}]})),
    st.just({**CHUNK, "choices": []}),
    st.just({**CHUNK, "error": {"message": "x"}}),
)
FORMS = st.sampled_from(
    [
        {"separators": (",", ":"), "ensure_ascii": False},
        {"separators": (",", ":"), "ensure_ascii": True},
        {"separators": (", ", ": "), "ensure_ascii": True},
    ]
)


class ParsingChunk(TextChunk):
    """Fits no chunk."""

    def learn(self, data: bytes, text: str) -> None:
        """Learn nothing."""


def outcome(parser: ChatParser, deltas: list[Delta], pieces: list[bytes]) -> tuple[Any, ...]:
    error = None
    try:
        for piece in pieces:
            parser.feed(piece)
    except GenerationError as failure:
        error = str(failure)
    return deltas, parser.reason, parser.usage, error


def outcome_as_text(parser: ChatParser, deltas: list[Delta], pieces: list[bytes]) -> tuple[Any, ...]:
    _, *others = outcome(parser, deltas, pieces)
    return "".join(getattr(delta, "text", "|") for delta in deltas), *others


def assert_equal_to_parsing_all(groups: list[list[bytes]], *, lags: bool) -> None:
    pieces = [body_of(*group) for group in groups]
    deltas: list[Delta] = []
    expected: list[Delta] = []
    parsing = ChatParser(expected.append, text_lags=lags)
    parsing._text_chunk = ParsingChunk()
    parser = ChatParser(deltas.append, text_lags=lags)
    assert outcome(parser, deltas, pieces) == outcome(parsing, expected, pieces)


@given(st.lists(st.lists(CHUNKS, max_size=6), max_size=5), FORMS, st.booleans())
def test_chunks_give_what_parsing_each_of_them_gives(groups, form, lags):
    sent = [[json.dumps(one, **form).encode("utf-8", "replace") for one in group] for group in groups]
    assert_equal_to_parsing_all(sent, lags=lags)


@given(
    st.lists(CHUNKS, max_size=12),
    FORMS,
    st.sampled_from([b"data: %b\n\n", b"data: %b\r\n\r\n", b"data:%b\n\n", b"event: x\ndata: %b\n\n"]),
    st.lists(st.integers(0, 2000), max_size=8),
)
@settings(max_examples=500)
def test_a_body_gives_what_parsing_each_of_its_events_gives_wherever_it_is_cut(chunks, form, event, cuts):
    body = b"".join(event % json.dumps(one, **form).encode("utf-8", "replace") for one in chunks)
    places = [0, *sorted(cut for cut in cuts if cut < len(body)), len(body)]
    pieces = [body[begin:end] for begin, end in pairwise(places)]
    deltas: list[Delta] = []
    expected: list[Delta] = []
    parsing = ChatParser(expected.append)
    parsing._text_chunk = ParsingChunk()
    parser = ChatParser(deltas.append)
    assert outcome_as_text(parser, deltas, pieces) == outcome_as_text(parsing, expected, pieces)


def test_texts_at_the_beginning_of_a_body_are_found_together():
    form = TextChunk()
    form.learn(b'{"content":"x"}', "x")
    event = 'data: {"content":"%s"}\n\n'
    texts = ["a", "ü longer", " "]
    body = "".join(event % text for text in texts).encode()
    for rest in (b"", b"data: [DONE]\n\n", b'data: {"content":"cut', b'data: {"other":"x"}\n\n', b"\n"):
        assert form.leading_texts(body + rest) == (texts, rest)
    for other in (r"\n", "\n", 'x","y":"', ""):
        changed = body + (event % other).encode()
        assert form.leading_texts(changed) == ((), changed)
    assert form.leading_texts(body[1:]) == ((), body[1:])
    half = b'data: {"content":"\xc3"}\n\ndata: {"content":"\xbc"}\n\n'
    assert form.leading_texts(half) == ((), half)


FEW = [
    choice({"content": "a"}),
    choice({"content": " b"}),
    choice({"reasoning": "r"}),
    choice({"content": "a", "reasoning": "r"}),
    scored("a"),
    scored("a", "ab"),
    scored("a", "a", "bc"),
    scored("a", " "),
    scored("b", "a"),
]


@given(st.lists(st.sampled_from(FEW), min_size=3, max_size=8), st.booleans())
@settings(max_examples=1000)
def test_reasoning_and_log_probabilities_are_those_of_parsing_each_chunk(chunks, lags):
    assert_equal_to_parsing_all([[json.dumps(one).encode()] for one in chunks], lags=lags)


def test_text_of_a_chunk_is_found_when_only_the_text_differs():
    form = TextChunk()
    form.learn(b'{"a":1,"content":"x","b":null}', "x")
    assert form.text_of('{"a":1,"content":"ü longer","b":null}'.encode()) == "ü longer"
    for other in (
        b'{"a":2,"content":"x","b":null}',
        b'{"a":1,"content":"x","b":1}',
        b'{"a":1,"content":"x","c":"y","b":null}',
        rb'{"a":1,"content":"\n","b":null}',
        b'{"a":1,"content":"\n","b":null}',
        b'{"a":1,"content":"","b":null}',
        b'{"a":1,"content":"\xff","b":null}',
        b'{"a":1,"content":","b":null}',
        b'{"a":1,"content"',
    ):
        assert form.text_of(other) is None


@pytest.mark.parametrize(
    "data",
    [b'{"content":"x","text":"x"}', rb'{"content":"\u0078"}', b'{"content" :"x"}', b'{"content":["x"]}'],
)
def test_form_is_not_learnt_when_the_place_of_the_text_is_unclear(data):
    form = TextChunk()
    form.learn(data, "x")
    assert form.text_of(data) is None


def test_forms_are_no_longer_learnt_when_they_never_fit():
    form = TextChunk()
    for number in range(MAX_MISSES + 1):
        form.learn(b'{"n":%d,"content":"x"}' % number, "x")
    last = b'{"n":%d,"content":"x"}' % MAX_MISSES
    assert form.text_of(last) is None


def test_form_is_learnt_again_when_each_has_fitted_for_a_while():
    form = TextChunk()
    for number in range(3 * MAX_MISSES):
        data = b'{"created":%d,"content":"x"}' % number
        form.learn(data, "x")
        assert form.text_of(data) == "x"


def test_text_that_was_not_parsed_counts_as_one_token_for_each_chunk():
    deltas: list[Delta] = []
    parser = ChatParser(deltas.append)
    parser.feed(body_of(*(json.dumps(choice({"content": f"t{n}"})).encode() for n in range(5))))
    assert [delta.text for delta in deltas] == ["t0t1t2t3t4"]
    assert parser.usage == Usage(0, 5)
