"""The parts of a request for vectors, and shortened vectors."""

from __future__ import annotations

import struct

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.base import GenerationError
from backends.shared.vectors import (
    CHARACTERS_PER_TOKEN,
    PART_INPUTS,
    PART_SIZE,
    encode_inputs,
    parts,
    shortened,
)
from generation.generation import Embedding, Generation

inputs = st.lists(
    st.one_of(
        st.integers(0, 2 * PART_SIZE).map("a".__mul__), st.integers(1, PART_SIZE // 2).map((7,).__mul__)
    ),
    min_size=1,
    max_size=40,
)


def size(given: str | tuple[int, ...]) -> int:
    return len(given) if isinstance(given, str) else CHARACTERS_PER_TOKEN * len(given)


@given(inputs)
def test_each_input_is_in_one_part_and_no_part_is_too_large(asked: list[str | tuple[int, ...]]) -> None:
    made = list(parts(asked))
    assert [one for part in made for one in part] == asked
    for part in made:
        assert 1 <= len(part) <= PART_INPUTS
        assert len(part) == 1 or sum(map(size, part)) <= PART_SIZE


def test_a_shortened_vector_has_length_one() -> None:
    assert struct.unpack("<2f", shortened(struct.pack("<3f", 3, 4, 5), 2)) == pytest.approx((0.6, 0.8))
    assert struct.unpack("<1f", shortened(struct.pack("<2f", 0, 1), 1)) == (0,)
    assert shortened(b"\0" * 8, None) == b"\0" * 8
    with pytest.raises(GenerationError) as caught:
        shortened(b"\0" * 8, 3)
    assert caught.value.code == "invalid_prompt"


def test_an_engine_gets_the_inputs_alone() -> None:
    asked = Embedding(("a", (1, 2)), 8)
    encoded = orjson.loads(encode_inputs(Generation("model", (), embedding=asked)))
    assert encoded == {"inputs": ["a", [1, 2]], "dimensions": 8, "query": None}
    with pytest.raises(GenerationError) as caught:
        encode_inputs(Generation("model", ()))
    assert caught.value.code == "generation_unsupported"
