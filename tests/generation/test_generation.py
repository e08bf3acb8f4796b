"""The JSON form of requests and events that cross process boundaries, compared with stored samples."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import orjson
import pytest
from hypothesis import given, strategies

from generation.generation import (
    AUDIO_FORMATS,
    THINKING_MODES,
    TOOL_CHOICE_MODES,
    AudioPart,
    CacheMode,
    CacheOwner,
    Embedding,
    Generation,
    ImagePart,
    Infill,
    JsonFormat,
    Message,
    NamedTool,
    Sampling,
    StateRequest,
    TextPart,
    TextTask,
    TextTaskKind,
    Tool,
    ToolCall,
    text_content,
)
from streams.events import (
    PromptProgress,
    ReasoningDelta,
    ScoredTextDelta,
    TextDelta,
    TokenLogprob,
    TokensDelta,
    ToolCallDelta,
    VectorDelta,
)
from tests.generation.sample import SAMPLES, assert_is_stored_sample

SMALLEST = Generation("demo", (Message("user", text_content("Hello")),))
WITH_AUDIO = Generation(
    "demo",
    (Message("user", (AudioPart("UklGRg==", "wav", 1500), AudioPart("//uQ", "mp3"))),),
)
LARGEST = Generation(
    model="qwen3-8b",
    messages=(
        Message("system", text_content("You are terse.")),
        Message("user", text_content('What is the weather in "Z\u00fcrich"?\n\U0001f326')),
        Message(
            "assistant",
            (),
            "They want the weather.",
            (ToolCall("call_1", "weather", '{"city":"Z\u00fcrich"}'),),
        ),
        Message("tool", text_content('{"celsius":0}'), tool_call_id="call_1"),
        Message(
            "user",
            (ImagePart("data:image/png;base64,AAAA", "low"), ImagePart("data:image/gif;base64,BB==")),
        ),
    ),
    sampling=Sampling(
        max_tokens=0,
        temperature=0.0,
        top_p=1.0,
        seed=-1,
        stop=("", "\n\n"),
        top_k=0,
        min_p=0.0,
        presence_penalty=-2.0,
        frequency_penalty=2.0,
        repetition_penalty=1.1,
        logit_bias=((0, -100.0), (7, 0.5)),
        top_logprobs=0,
        token_ids=True,
        llama={"mirostat": 2, "samplers": ["top_k"]},
    ),
    tools=(
        Tool(
            "weather",
            "",
            {
                "type": "object",
                "properties": {"city": {"type": "string", "default": ""}, "anything": {}},
                "required": [],
                "additionalProperties": False,
                "examples": [None, "", 0, False, [], {}],
            },
        ),
        Tool("now", strict=True),
    ),
    tool_choice=NamedTool("weather"),
    thinking="enabled",
    source_lang_code="de",
    target_lang_code="fr",
    allow_remote=True,
    cache_namespace="0123456789abcdef0123456789abcdef",
    cache_owner=CacheOwner("acme", "session", "a name"),
    cache_mode="none",
    prompt="",
    suffix="}",
    output_format=JsonFormat({"type": "object"}, "answer", ""),
    parallel_tool_calls=False,
    thinking_budget=0,
    reasoning_effort="low",
    lora="pirate",
    count_only=True,
    embedding=Embedding(("", (0, 7)), 1, ""),
    truncate=True,
    conversation="fedcba9876543210fedcba9876543210",
    state=StateRequest("save", 3, "", "0", "demo-0"),
    text_task=TextTask("tokenize", ("", 7), add_special=True, parse_special=True, with_pieces=True),
    reports_progress=True,
    ends_reasoning=True,
    prompt_tokens=(0, "", 7),
    infill=Infill((("a.py", ""),), "x"),
    answer_grammar="",
)
BEFORE_OUTPUT_FORMATS = replace(
    LARGEST,
    sampling=Sampling(max_tokens=0, temperature=0.0, top_p=1.0, seed=-1, stop=("", "\n\n")),
    tools=(LARGEST.tools[0], Tool("now")),
    prompt=None,
    suffix=None,
    output_format=None,
    parallel_tool_calls=True,
    thinking_budget=None,
    reasoning_effort=None,
    lora=None,
    count_only=False,
    embedding=None,
    truncate=False,
    conversation=None,
    state=None,
    text_task=None,
    reports_progress=False,
    ends_reasoning=False,
    prompt_tokens=(),
    infill=None,
    answer_grammar=None,
)
BEFORE_CACHE_OWNERS = replace(BEFORE_OUTPUT_FORMATS, cache_owner=None)
BEFORE_CACHE_NAMESPACES = replace(BEFORE_CACHE_OWNERS, cache_namespace=None, cache_mode="prefix")
EVENTS = (
    TextDelta("Hello"),
    ScoredTextDelta(" ", (TokenLogprob(" ", -0.5, top=(TokenLogprob("\ufffd", -1.5, b"\xc3"),)),)),
    ScoredTextDelta(
        "a",
        (TokenLogprob("a", -0.5, id=7), TokenLogprob("", 0.0, top=(TokenLogprob("b", -1.5, id=0),), id=1)),
    ),
    ReasoningDelta("They greet."),
    ToolCallDelta(0, "", "call_1", "weather"),
    ToolCallDelta(0, '{"city":'),
    VectorDelta.of(0, b"\x00\x00\x80?"),
    TokensDelta(b'1,{"id":2,"piece":[195]}'),
    PromptProgress(20, 4, 12, 150),
)

words = strategies.text(strategies.characters(exclude_categories=["Cs"]), max_size=20)
numbers = strategies.integers(-(2**63), 2**63 - 1)
values = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | numbers
    | strategies.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: strategies.lists(inner, max_size=3) | strategies.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
parts = (
    strategies.builds(TextPart, words)
    | strategies.builds(ImagePart, words, strategies.none() | words)
    | strategies.builds(
        AudioPart, words, strategies.sampled_from(AUDIO_FORMATS), strategies.integers(0, 9999)
    )
)
messages = strategies.builds(
    Message,
    role=words,
    content=strategies.lists(parts, max_size=3).map(tuple),
    reasoning=strategies.none() | words,
    tool_calls=strategies.lists(strategies.builds(ToolCall, words, words, words), max_size=2).map(tuple),
    tool_call_id=strategies.none() | words,
)
samplings = strategies.builds(
    Sampling,
    max_tokens=strategies.none() | numbers,
    temperature=strategies.none() | strategies.floats(0, 2),
    top_p=strategies.none() | strategies.floats(0, 1),
    seed=strategies.none() | numbers,
    stop=strategies.lists(words, max_size=3).map(tuple),
    logit_bias=strategies.lists(strategies.tuples(numbers, strategies.floats(-100, 100)), max_size=2).map(
        tuple
    ),
    top_logprobs=strategies.none() | strategies.integers(0, 20),
)
tools = strategies.builds(
    Tool,
    words,
    strategies.none() | words,
    strategies.none() | strategies.dictionaries(words, values, max_size=3),
)
generations = strategies.builds(
    Generation,
    model=words,
    messages=strategies.lists(messages, max_size=3).map(tuple),
    sampling=samplings,
    tools=strategies.lists(tools, max_size=2).map(tuple),
    tool_choice=strategies.sampled_from(TOOL_CHOICE_MODES) | strategies.builds(NamedTool, words),
    thinking=strategies.sampled_from(THINKING_MODES),
    source_lang_code=strategies.none() | words,
    target_lang_code=strategies.none() | words,
    cache_namespace=strategies.none() | words,
    cache_owner=strategies.none() | strategies.builds(CacheOwner, words, strategies.none() | words),
    cache_mode=strategies.sampled_from(get_args(CacheMode)),
    output_format=strategies.none()
    | strategies.builds(JsonFormat, strategies.none() | strategies.dictionaries(words, values, max_size=3)),
    parallel_tool_calls=strategies.booleans(),
    thinking_budget=strategies.none() | numbers,
    count_only=strategies.booleans(),
    truncate=strategies.booleans(),
    text_task=strategies.none()
    | strategies.builds(
        TextTask,
        strategies.sampled_from(get_args(TextTaskKind)),
        strategies.lists(words | numbers, max_size=2).map(tuple),
        strategies.booleans(),
    ),
    reports_progress=strategies.booleans(),
    ends_reasoning=strategies.booleans(),
    embedding=strategies.none()
    | strategies.builds(
        Embedding,
        strategies.lists(words | strategies.lists(numbers, max_size=2).map(tuple), max_size=2).map(tuple),
        strategies.none() | numbers,
    ),
)


@given(generations)
def test_a_generation_is_decoded_as_it_was_encoded(generation: Generation) -> None:
    assert Generation.from_json(generation.to_json()) == generation


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("generation.json", LARGEST.to_json()),
        ("generation_smallest.json", SMALLEST.to_json()),
        ("generation_with_audio.json", WITH_AUDIO.to_json()),
        ("events.json", b"[\n" + b",\n".join(event.encode() for event in EVENTS) + b"\n]"),
    ],
)
def test_the_json_form_is_the_stored_sample(name: str, form: bytes) -> None:
    assert_is_stored_sample(name, form + b"\n")


@pytest.mark.parametrize("generation", [LARGEST, SMALLEST])
def test_json_form_with_changes_is_that_of_the_changed_generation(generation: Generation) -> None:
    owner = CacheOwner("acme", "tag")
    changed = replace(generation, cache_owner=owner, cache_mode="none", cache_namespace=None)
    assert generation.to_json(cache_owner=owner, cache_mode="none", cache_namespace=None) == changed.to_json()


@pytest.mark.parametrize("generation", [SMALLEST, LARGEST], ids=["smallest", "largest"])
def test_a_generation_is_decoded_from_text(generation: Generation) -> None:
    assert Generation.from_json(generation.to_json().decode()) == generation


def test_the_form_before_there_were_output_formats_is_still_read() -> None:
    old = (SAMPLES / "generation_before_output_formats.json").read_bytes()
    assert b"output_format" not in old
    assert Generation.from_json(old) == BEFORE_OUTPUT_FORMATS


def test_the_form_before_there_were_images_is_still_read() -> None:
    """Queued jobs survive an update of the platform."""
    old = (SAMPLES / "generation_before_images.json").read_bytes()
    assert b"images" not in old
    messages = tuple(replace(message, content=text_content(message.text)) for message in LARGEST.messages)
    assert Generation.from_json(old) == replace(
        BEFORE_CACHE_NAMESPACES, messages=messages, allow_remote=False
    )


def test_the_form_before_there_were_content_parts_is_still_read() -> None:
    """A text, and images each at a position in it."""
    old = (SAMPLES / "generation_before_parts.json").read_bytes()
    assert b"images" in old
    assert Generation.from_json(old) == BEFORE_CACHE_NAMESPACES
    raw = orjson.loads(old)
    shown = [{"url": url, "at": at, "detail": None} for url, at in (("a", 0), ("b", 3), ("c", 3), ("d", 6))]
    raw["messages"] = [{**raw["messages"][0], "role": "user", "content": "A\u00f1d so", "images": shown}]
    (message,) = Generation.from_json(orjson.dumps(raw)).messages
    images = map(ImagePart, "abcd")
    expected = (next(images), TextPart("A\u00f1d"), next(images), next(images), TextPart(" so"), next(images))
    assert message.content == expected


def test_the_form_before_there_were_cache_namespaces_is_still_read() -> None:
    """Without a namespace a request shares no prefix, whatever its mode."""
    old = (SAMPLES / "generation_before_cache_namespaces.json").read_bytes()
    assert b"cache" not in old
    read = Generation.from_json(old)
    assert read == BEFORE_CACHE_NAMESPACES
    assert read.shared_namespace is None


def test_the_form_before_there_were_cache_owners_is_still_read() -> None:
    old = (SAMPLES / "generation_before_cache_owners.json").read_bytes()
    assert b"cache_owner" not in old
    assert Generation.from_json(old) == BEFORE_CACHE_OWNERS


def test_only_the_mode_prefix_shares_a_namespace() -> None:
    shared = replace(SMALLEST, cache_namespace="n")
    assert shared.shared_namespace == "n"
    assert replace(shared, cache_mode="none").shared_namespace is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"{}",
        b'{"model":"m"}',
        SMALLEST.to_json().replace(b'"role"', b'"who"'),
        SMALLEST.to_json().replace(b'"stop":[]', b'"stop":1'),
        SMALLEST.to_json().replace(b'"tools":[]', b'"tools":["weather"]'),
        SMALLEST.to_json().replace(b'"messages":[{', b'"messages":["x",{'),
        SMALLEST.to_json().replace(b'"type":"text"', b'"type":"image"'),
    ],
)
def test_an_invalid_generation_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - JSON's own error is one
        Generation.from_json(data)
