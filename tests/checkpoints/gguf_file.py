"""Read a GGUF file: its settings, and its tensors as 32-bit floats. Needs the standard library only.

The format is ggml's docs/gguf.md, version 3. Of the ways to store weights, the two that the demo model uses
are known: f32, and q8_0 (blocks of 32 signed bytes that share one half-precision scale).
"""

from __future__ import annotations

import struct
import sys
from array import array
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

STRING, ARRAY = 8, 9
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
F32, Q8_0 = 0, 8
BLOCK = struct.Struct("<e32b")


@dataclass(frozen=True)
class Tensor:
    """Weights in rows: `shape` has the longest stride first, as torch and numpy say it; GGUF reverses it."""

    shape: tuple[int, ...]
    numbers: array[float]


@dataclass(frozen=True)
class GgufFile:
    """What a model file holds."""

    settings: dict[str, Any]
    tensors: dict[str, Tensor]


def read(path: Path) -> GgufFile:
    """Read a whole file.

    Raises ValueError for a file that is no GGUF of version 3, or that stores weights in a way not known here.
    """
    if sys.byteorder != "little":
        raise ValueError("GGUF files are read on little-endian machines only")
    reader = _Reader(path.read_bytes())
    if reader.take("4s") != b"GGUF" or reader.take("I") != 3:
        raise ValueError(f"{path} is no GGUF file of version 3")
    tensor_count, setting_count = reader.take("Q"), reader.take("Q")
    settings = {reader.text(): reader.value(reader.take("I")) for _ in range(setting_count)}
    places = [reader.place() for _ in range(tensor_count)]
    alignment = settings.get("general.alignment", 32)
    start = -(-reader.position // alignment) * alignment
    return GgufFile(
        settings,
        {
            name: Tensor(shape, _numbers(reader.data, start + offset, prod(shape), kind))
            for name, shape, kind, offset in places
        },
    )


def _numbers(data: bytes, start: int, count: int, kind: int) -> array[float]:
    numbers = array("f")
    if kind == F32:
        numbers.frombytes(data[start : start + 4 * count])
    elif kind == Q8_0:
        blocks = memoryview(data)[start : start + count // 32 * BLOCK.size]
        for scale, *steps in BLOCK.iter_unpack(blocks):
            numbers.extend([scale * step for step in steps])  # exact: 11 bits times 7 fit into 24
    else:
        raise ValueError(f"weights of GGML type {kind} are not known here")
    return numbers


class _Reader:
    """Goes through a file's head."""

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
            of, count = self.take("I"), self.take("Q")
            return [self.value(of) for _ in range(count)]
        return self.take(SCALARS[kind])

    def place(self) -> tuple[str, tuple[int, ...], int, int]:
        """Name, shape, kind and offset of a tensor."""
        name = self.text()
        sizes = [self.take("Q") for _ in range(self.take("I"))]
        return name, tuple(reversed(sizes)), self.take("I"), self.take("Q")
