"""What engines that make vectors share: their form, and the parts that a request is computed in."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence

import orjson

from backends.base import GenerationError
from generation.generation import Generation

PART_INPUTS = 16
PART_SIZE = 16_384
"""The inputs of a part, and about how many characters they have together. Other requests run between the
parts, and a cancelled request ends with its present one."""

Input = str | tuple[int, ...]
CHARACTERS_PER_TOKEN = 4


def encode_inputs(generation: Generation) -> bytes:
    """Encode a request for vectors for an engine process that makes nothing else (a `RequestEncoder`)."""
    if generation.embedding is None:  # the API refuses it, but may have another configuration
        raise GenerationError(
            "generation_unsupported", "the loaded model computes embeddings and does not generate answers"
        )
    return orjson.dumps(generation.embedding)


def parts(inputs: Sequence[Input]) -> Iterator[Sequence[Input]]:
    """Yield the inputs in parts; one that is larger than a part is alone."""
    first, size = 0, 0
    for index, given in enumerate(inputs):
        length = len(given) if isinstance(given, str) else CHARACTERS_PER_TOKEN * len(given)
        if index > first and (index - first == PART_INPUTS or size + length > PART_SIZE):
            yield inputs[first:index]
            first, size = index, 0
        size += length
    yield inputs[first:]


def shortened(vector: bytes, dimensions: int | None) -> bytes:
    """Return the first numbers of a vector (float32, little-endian), scaled to length 1.

    None returns it as it is. Raises `GenerationError` if it has fewer numbers.
    """
    if dimensions is None:
        return vector
    count = len(vector) // 4
    if dimensions > count:
        raise GenerationError("invalid_prompt", f"the embeddings of this model have {count} dimensions")
    numbers = array("f", vector[: 4 * dimensions])
    length = math.sqrt(sum(number * number for number in numbers)) or 1.0
    return array("f", [number / length for number in numbers]).tobytes()
