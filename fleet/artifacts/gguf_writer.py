"""Makes the header of a GGUF file, version 3 (ggml's docs/gguf.md); callers write the numbers behind it."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from fleet.artifacts.gguf_header import ALIGNMENT, LIST, MAGIC, TEXT, TYPES

VERSION = 3
UINT32, INT32, FLOAT32, BOOL = 4, 5, 6, 7
TYPE_NUMBERS = {name: number for number, (name, _, _) in TYPES.items()}


@dataclass(frozen=True, slots=True)
class TensorPlan:
    """A tensor to be written. `shape` is in the order of numpy, `type` a name in `gguf_header.TYPES`."""

    name: str
    shape: tuple[int, ...]
    type: str = "fp32"

    @property
    def bytes(self) -> int:
        """The bytes of its numbers; in the file they are padded (`padded`)."""
        _, block, size = TYPES[TYPE_NUMBERS[self.type]]
        return prod(self.shape) // block * size


def gguf_head(settings: Mapping[str, Any], tensors: Sequence[TensorPlan]) -> bytes:
    """The padded header of a file. Settings are bools, ints, floats, texts, and lists of ints or texts."""
    parts = [MAGIC, struct.pack("<IQQ", VERSION, len(tensors), len(settings))]
    parts += [_text(name) + _value(value) for name, value in settings.items()]
    offset = 0
    for tensor in tensors:
        sizes = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *reversed(tensor.shape))
        parts.append(_text(tensor.name) + sizes + struct.pack("<IQ", TYPE_NUMBERS[tensor.type], offset))
        offset += padded(tensor.bytes)
    head = b"".join(parts)
    return head.ljust(padded(len(head)), b"\0")


def padded(size: int) -> int:
    """The bytes that a part of `size` bytes takes in the file."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def byte_tokens() -> Iterable[str]:
    """The 256 tokens of single bytes in a vocabulary of the kind `gpt2`, by byte (GPT-2, encoder.py)."""
    plain = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return (chr(byte if byte in plain else next(others)) for byte in range(256))


def _text(text: str) -> bytes:
    data = text.encode("utf-8", "replace")
    return struct.pack("<Q", len(data)) + data


def _value(value: Any) -> bytes:
    """A value after its type. A bool is an int in Python, so the order matters."""
    match value:
        case bool():
            return struct.pack("<I?", BOOL, value)
        case int():
            return struct.pack("<II", UINT32, value)
        case float():
            return struct.pack("<If", FLOAT32, value)
        case str():
            return struct.pack("<I", TEXT) + _text(value)
        case [str(), *_]:
            return struct.pack("<IIQ", LIST, TEXT, len(value)) + b"".join(map(_text, value))
        case _:
            return struct.pack(f"<IIQ{len(value)}i", LIST, INT32, len(value), *value)
