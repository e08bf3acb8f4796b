"""Keys of prefixes: what shares them, and their bounds."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from generation.generation import (
    AudioPart,
    Embedding,
    Generation,
    ImagePart,
    Message,
    TextPart,
    Tool,
    ToolCall,
    text_content,
)
from generation.prefix_keys import MAX_KEYS, PrefixKey, is_measured
from generation.prefix_keys import prefix_keys as keys_of

NAMESPACE = "0123456789abcdef" * 2


def message(role: str, text: str) -> Message:
    return Message(role, text_content(text))


def chat(*texts: str, system: str = "Be brief.", **fields: object) -> Generation:
    messages = [message("system", system)] + [
        message("user" if at % 2 == 0 else "assistant", text) for at, text in enumerate(texts)
    ]
    return replace(Generation("m", tuple(messages), cache_namespace=NAMESPACE), **fields)  # type: ignore[arg-type]


def prefix_keys(generation: Generation) -> list[PrefixKey]:
    return keys_of(generation, generation.shared_namespace)


def digests(generation: Generation) -> set[bytes]:
    return {digest for digest, _ in prefix_keys(generation)}


def test_the_next_turn_has_the_key_of_the_whole_prompt_before() -> None:
    first, second = chat("Hello"), chat("Hello", "Hi!", "How are you?")
    assert prefix_keys(first)[-1][0] in digests(second)
    assert prefix_keys(second)[-1][0] not in digests(first)


def test_conversations_with_the_same_system_prompt_share_its_key_alone() -> None:
    assert len(digests(chat("Hello")) & digests(chat("Good evening"))) == 1
    assert not digests(chat("Hello")) & digests(chat("Hello", system="Be long."))


@pytest.mark.parametrize(
    "changes",
    [
        {"cache_namespace": "f" * 32},
        {"tools": (Tool("look", "Looks."),)},
        {"reasoning_effort": "low"},
    ],
)
def test_requests_that_differ_before_the_messages_share_no_key(changes: dict[str, object]) -> None:
    assert not digests(chat("Hello")) & digests(chat("Hello", **changes))


def test_neither_the_mode_of_thinking_nor_the_reasoning_of_earlier_turns_changes_a_key() -> None:
    first = chat("Hello", "Hi!", "How are you?")
    assert prefix_keys(chat("Hello", "Hi!", "How are you?", thinking="disabled")) == prefix_keys(first)
    calls = (ToolCall("call_1", "look", "{}"),)
    for fields in ({}, {"tool_calls": calls}, {"content": (TextPart("Hi"), TextPart("!"))}):
        answers = [replace(first.messages[2], **fields, reasoning=text) for text in (None, "A greeting.")]
        both = [(*first.messages[:2], answer, first.messages[3]) for answer in answers]
        one, other = (replace(first, messages=messages) for messages in both)
        assert prefix_keys(one) == prefix_keys(other)
        assert (fields == {}) is (prefix_keys(one) == prefix_keys(first))


def test_a_request_without_a_shared_prefix_has_no_keys() -> None:
    assert prefix_keys(chat("Hello", cache_mode="none")) == []
    assert prefix_keys(chat("Hello", cache_namespace=None)) == []
    assert prefix_keys(chat("Hello", count_only=True)) == []
    assert prefix_keys(chat("Hello", messages=(), embedding=Embedding(("a",)))) == []


def test_images_differ_by_their_bytes_and_count_a_fixed_number_of_tokens() -> None:
    def with_image(url: str) -> Generation:
        message = Message("user", (TextPart("What is it?"), ImagePart(url)))
        return Generation("m", (message,), cache_namespace=NAMESPACE)

    one, other = with_image("data:image/png;base64,AAAA"), with_image("data:image/png;base64,AAAB")
    assert not digests(one) & digests(other)
    large = with_image("data:image/png;base64," + "A" * 100_000)
    assert prefix_keys(large)[-1][1] == prefix_keys(one)[-1][1]


def test_recordings_differ_by_their_bytes_and_count_by_their_length() -> None:
    def with_recording(data: str) -> Generation:
        message = Message("user", (TextPart("What?"), ImagePart("data:,x"), AudioPart(data, "wav", 15_000)))
        return Generation("m", (message,), cache_namespace=NAMESPACE)

    one, other = with_recording("A" * 200_000), with_recording("A" * 199_999 + "B")
    assert not digests(one) & digests(other)
    assert 375 + 256 <= prefix_keys(one)[-1][1] < 375 + 256 + 100


def test_a_long_document_has_keys_inside_so_that_another_end_shares_its_begin() -> None:
    document = "word " * 20_000
    one, other = chat(document + "What?"), chat(document + "Who?")
    shared = [key for key in prefix_keys(one) if key[0] in digests(other)]
    assert shared[-1][1] >= 65_536 // 4
    completions = [
        Generation("m", (), prompt=document + end, cache_namespace=NAMESPACE) for end in ("a", "b")
    ]
    assert len(digests(completions[0]) & digests(completions[1])) == 5


def test_the_keys_are_bounded_and_the_shortest_comes_first() -> None:
    keys = prefix_keys(chat(*["word " * 20_000] * 41))
    assert len(keys) == MAX_KEYS
    assert [tokens for _, tokens in keys] == sorted(tokens for _, tokens in keys)
    assert keys[-1][1] > 900_000


class CountingHash:
    """BLAKE2b of the standard library that counts its bytes and its digests."""

    def __init__(self, counts: Counter[str], real: Any) -> None:
        self._counts, self._real = counts, real

    def update(self, data: bytes) -> None:
        self._counts["bytes"] += len(data)
        self._counts["updates"] += 1
        self._real.update(data)

    def copy(self) -> CountingHash:
        return CountingHash(self._counts, self._real.copy())

    def digest(self) -> bytes:
        self._counts["digests"] += 1
        return bytes(self._real.digest())


MIB = 1 << 20


@pytest.mark.parametrize(
    "make_prompt",
    [
        pytest.param(lambda: chat(*["hm"] * 100_000), id="very many messages"),
        pytest.param(
            lambda: chat(*["x" * 4097] * 256), id="messages that are just long enough for a boundary inside"
        ),
        pytest.param(lambda: chat("x" * MIB), id="one message"),
        pytest.param(lambda: chat("Hi", tools=(Tool("look", "x" * MIB),)), id="a long tool"),
        pytest.param(
            lambda: chat("Hi", tools=tuple(Tool(f"t{at}") for at in range(20_000))), id="very many tools"
        ),
        pytest.param(
            lambda: chat("Hi", messages=(Message("user", tuple(TextPart("x") for _ in range(50_000))),)),
            id="very many parts",
        ),
        pytest.param(
            lambda: Generation("m", (), prompt="x" * MIB, cache_namespace=NAMESPACE), id="a plain prompt"
        ),
    ],
)
def test_each_byte_of_a_hostile_prompt_is_hashed_once_for_at_most_twelve_keys(
    make_prompt: Callable[[], Generation], monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt = make_prompt()
    counts: Counter[str] = Counter()
    real = hashlib.blake2b
    monkeypatch.setattr(
        "generation.prefix_keys.hashlib.blake2b",
        lambda **settings: CountingHash(counts, real(**settings)),
    )
    keys = prefix_keys(prompt)
    size = len(prompt.to_json())
    assert len(keys) <= MAX_KEYS
    assert counts["bytes"] <= size
    assert counts["updates"] <= len(prompt.messages) + 2 + counts["digests"]
    assert counts["digests"] <= MAX_KEYS + size // 4096


@pytest.mark.parametrize(
    ("generation", "expected"),
    [
        (chat("Hi"), True),
        (Generation("m", (), prompt="Once upon a time"), True),
        (chat("Hi", truncate=True), False),
        (chat("Hi", "I was"), False),  # the engine goes on after what the model wrote
        (replace(chat("Hi"), messages=(Message("user", (ImagePart("data:image/png;base64,AA=="),)),)), False),
    ],
)
def test_a_prompt_is_measured_when_its_last_key_is_for_all_of_its_text(
    generation: Generation, expected: bool
) -> None:
    assert is_measured(generation) is expected
