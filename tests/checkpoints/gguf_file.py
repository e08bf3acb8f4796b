"""Reads and writes GGUF files: settings, and tensors as 32-bit floats. Needs the standard library only.

The format is ggml's docs/gguf.md, version 3. The two tensor types of the demo model can be read: f32, and
q8_0 (blocks of 32 signed bytes with one half-precision scale). Tensors are written as
f32, or as f16 (half-precision).
"""

from __future__ import annotations

import struct
import sys
from array import array
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
F32, F16, Q8_0 = 0, 1, 8
BLOCK = struct.Struct("<e32b")
ALIGNMENT = 32  # unless the file sets another one


@dataclass(frozen=True)
class Tensor:
    """Weights in row-major order. `shape` is in the order of torch and numpy, the reverse of GGUF's."""

    shape: tuple[int, ...]
    numbers: array[float]
    is_half: bool = False

    def encoded(self) -> bytes:
        """The weights as they stand in a file."""
        if self.is_half:
            return struct.pack(f"<{len(self.numbers)}e", *self.numbers)
        return self.numbers.tobytes()


@dataclass(frozen=True)
class GgufFile:
    """The content of a model file."""

    settings: dict[str, Any]
    tensors: dict[str, Tensor]


def read(path: Path) -> GgufFile:
    """Read a whole file.

    Raises ValueError for a file that is no GGUF of version 3, or for another tensor type.
    """
    if sys.byteorder != "little":
        raise ValueError("GGUF files are read on little-endian machines only")
    reader = _Reader(path.read_bytes())
    if reader.take("4s") != b"GGUF" or reader.take("I") != 3:
        raise ValueError(f"{path} is no GGUF file of version 3")
    tensor_count, setting_count = reader.take("Q"), reader.take("Q")
    settings = {reader.text(): reader.value(reader.take("I")) for _ in range(setting_count)}
    tensor_infos = [reader.tensor_info() for _ in range(tensor_count)]
    alignment = settings.get("general.alignment", ALIGNMENT)
    start = _aligned(reader.position, alignment)
    return GgufFile(
        settings,
        {
            name: Tensor(shape, _numbers(reader.data, start + offset, prod(shape), kind))
            for name, shape, kind, offset in tensor_infos
        },
    )


def encode(file: GgufFile) -> bytes:
    """Encode a file. Settings are bools, ints, floats, strings, and lists of ints, floats or strings."""
    head = [b"GGUF", struct.pack("<IQQ", 3, len(file.tensors), len(file.settings))]
    head += [_text(name) + _typed_value(value) for name, value in file.settings.items()]
    offset = 0
    for name, tensor in file.tensors.items():
        sizes = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *reversed(tensor.shape))
        head.append(_text(name) + sizes + struct.pack("<IQ", F16 if tensor.is_half else F32, offset))
        offset += _aligned((2 if tensor.is_half else 4) * len(tensor.numbers))
    parts = [b"".join(head), *(tensor.encoded() for tensor in file.tensors.values())]
    return b"".join(part.ljust(_aligned(len(part)), b"\0") for part in parts)


def _aligned(size: int, alignment: int = ALIGNMENT) -> int:
    return -(-size // alignment) * alignment


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _typed_value(value: Any) -> bytes:
    """A value after its type. A bool is an int in Python, so the order matters."""
    if isinstance(value, bool):
        return struct.pack("<I?", BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", UINT32, value)
    if isinstance(value, float):
        return struct.pack("<If", FLOAT32, value)
    if isinstance(value, str):
        return struct.pack("<I", STRING) + _text(value)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", ARRAY, STRING, len(value)) + b"".join(map(_text, value))
    element_type, letter = (INT32, "i") if isinstance(value[0], int) else (FLOAT32, "f")
    return struct.pack(f"<IIQ{len(value)}{letter}", ARRAY, element_type, len(value), *value)


def _numbers(data: bytes, start: int, count: int, kind: int) -> array[float]:
    numbers = array("f")
    if kind == F32:
        numbers.frombytes(data[start : start + 4 * count])
    elif kind == Q8_0:
        blocks = memoryview(data)[start : start + count // 32 * BLOCK.size]
        for scale, *steps in BLOCK.iter_unpack(blocks):
            numbers.extend([scale * step for step in steps])  # exact: 11 bits times 7 fit into 24
    else:
        raise ValueError(f"weights of GGML type {kind} are not supported")
    return numbers


class _Reader:
    """Reads a file's header."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self, form: str) -> Any:
        [value] = struct.unpack_from("<" + form, self.data, self.position)
        self.position += struct.calcsize("<" + form)
        return value

    def text(self) -> str:
        text: str = self.take(f"{self.take('Q')}s").decode()
        return text

    def value(self, kind: int) -> Any:
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            element_type, count = self.take("I"), self.take("Q")
            return [self.value(element_type) for _ in range(count)]
        return self.take(SCALARS[kind])

    def tensor_info(self) -> tuple[str, tuple[int, ...], int, int]:
        """Name, shape, kind and offset of a tensor."""
        name = self.text()
        sizes = [self.take("Q") for _ in range(self.take("I"))]
        return name, tuple(reversed(sizes)), self.take("I"), self.take("Q")
