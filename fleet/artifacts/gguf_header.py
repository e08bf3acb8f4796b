"""Reads the header of a GGUF file, within bounds: its settings and the sizes of its tensors.

The format is ggml's docs/gguf.md, versions 2 and 3. The numbers in a file are not trusted: what is read is
bounded before it is read.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from fleet.artifacts.errors import UnusableArtifact

MAGIC = b"GGUF"
MAX_HEADER_BYTES = 256 * 1024 * 1024  # vocabularies of 262,144 tokens take some 10 MB
MAX_SETTINGS = 4096
MAX_TENSORS = 65_536
MAX_TEXTS = 2_000_000  # of all lists, which take a second; a vocabulary of 262,144 tokens has twice as many
MAX_KEPT_TEXT = 256
MAX_DIMENSIONS = 8

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
TEXT, LIST = 8, 9

# ggml_type: name, numbers per block, bytes per block (ggml/src/ggml.c)
TYPES = {
    0: ("fp32", 1, 4),
    1: ("fp16", 1, 2),
    2: ("q4_0", 32, 18),
    3: ("q4_1", 32, 20),
    6: ("q5_0", 32, 22),
    7: ("q5_1", 32, 24),
    8: ("q8_0", 32, 34),
    10: ("q2_k", 256, 84),
    11: ("q3_k", 256, 110),
    12: ("q4_k", 256, 144),
    13: ("q5_k", 256, 176),
    14: ("q6_k", 256, 210),
    16: ("iq2_xxs", 256, 66),
    17: ("iq2_xs", 256, 74),
    18: ("iq3_xxs", 256, 98),
    19: ("iq1_s", 256, 50),
    20: ("iq4_nl", 32, 18),
    21: ("iq3_s", 256, 110),
    22: ("iq2_s", 256, 82),
    23: ("iq4_xs", 256, 136),
    29: ("iq1_m", 256, 56),
    30: ("bf16", 1, 2),
    34: ("tq1_0", 256, 54),
    35: ("tq2_0", 256, 66),
    39: ("mxfp4", 32, 17),
}

FILE_TYPES = {
    **{0: "fp32", 1: "fp16", 2: "q4_0", 3: "q4_1", 7: "q8_0", 8: "q5_0", 9: "q5_1", 10: "q2_k"},
    **{11: "q3_k_s", 12: "q3_k_m", 13: "q3_k_l", 14: "q4_k_s", 15: "q4_k_m", 16: "q5_k_s", 17: "q5_k_m"},
    **{18: "q6_k", 19: "iq2_xxs", 20: "iq2_xs", 21: "q2_k_s", 22: "iq3_xs", 23: "iq3_xxs", 24: "iq1_s"},
    **{25: "iq4_nl", 26: "iq3_s", 27: "iq3_m", 28: "iq2_s", 29: "iq2_m", 30: "iq4_xs", 31: "iq1_m"},
    **{32: "bf16", 36: "tq1_0", 37: "tq2_0", 38: "mxfp4"},
}
"""The values of `general.file_type` (llama.h, llama_ftype)."""


@dataclass(frozen=True, slots=True)
class TensorSize:
    """A tensor: its name, the name of its type, and its bytes."""

    name: str
    type: str
    bytes: int


@dataclass(frozen=True, slots=True)
class ListLength:
    """What is kept of a list."""

    length: int


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The settings (of a list its `ListLength`, of a long text nothing) and the tensors of one file.

    `texts` is the number of texts in its lists.
    """

    settings: dict[str, Any]
    tensors: tuple[TensorSize, ...]
    texts: int = 0

    def number(self, name: str) -> int | None:
        """A setting of the model's architecture that is a positive integer; None if there is none."""
        value = self.settings.get(f"{self.settings.get('general.architecture')}.{name}")
        return value if isinstance(value, int) and value > 0 else None


def read_gguf_header(path: Path) -> GgufHeader:
    """Read a file's header. Raises `UnusableArtifact`, `OSError`."""
    with path.open("rb") as file:
        try:
            return _Reader(file).header()
        except (struct.error, UnicodeDecodeError, EOFError, OverflowError):
            raise UnusableArtifact(f"{path.name} is damaged: its GGUF header is incomplete") from None


def is_gguf(path: Path) -> bool:
    """Whether a file begins as GGUF does. Raises `OSError`."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


class _Reader:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = MAX_HEADER_BYTES
        self._texts = 0

    def header(self) -> GgufHeader:
        if self._bytes(4) != MAGIC:
            raise UnusableArtifact("the file is not a GGUF file")
        (version,) = self._unpack("I")
        if version not in (2, 3):
            raise UnusableArtifact(f"the file has GGUF version {version}; only 2 and 3 can be read")
        tensors, settings = self._unpack("QQ")
        _bound("tensors", tensors, MAX_TENSORS)
        _bound("settings", settings, MAX_SETTINGS)
        values = {self._text(): self._value(self._unpack("I")[0]) for _ in range(settings)}
        return GgufHeader(values, tuple(self._tensor() for _ in range(tensors)), self._texts)

    def _tensor(self) -> TensorSize:
        name = self._text()
        (dimensions,) = self._unpack("I")
        _bound("dimensions of a tensor", dimensions, MAX_DIMENSIONS)
        shape = self._unpack(f"{dimensions}Q")
        kind, _offset = self._unpack("IQ")
        if kind not in TYPES:
            raise UnusableArtifact(f"the file has tensors of an unknown type ({kind})")
        type_name, numbers, size = TYPES[kind]
        return TensorSize(name, type_name, -(-prod(shape) // numbers) * size)

    def _value(self, kind: int) -> Any:
        if kind == TEXT:
            return self._text()
        if kind == LIST:
            item, count = self._unpack("IQ")
            if item == TEXT:
                self._texts = _bound("texts in lists", self._texts + count, MAX_TEXTS)
                for _ in range(count):
                    self._skip(int.from_bytes(self._bytes(8), "little"))
            else:
                self._skip(count * struct.calcsize("<" + _scalar(item)))
            return ListLength(count)
        return self._unpack(_scalar(kind))[0]

    def _text(self) -> str:
        """A text; of a long one nothing."""
        (length,) = self._unpack("Q")
        if length > MAX_KEPT_TEXT:
            self._skip(length)
            return ""
        return self._bytes(length).decode()

    def _unpack(self, form: str) -> tuple[Any, ...]:
        form = "<" + form
        return struct.unpack(form, self._bytes(struct.calcsize(form)))

    def _bytes(self, count: int) -> bytes:
        self._take(count)
        data = self._file.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def _skip(self, count: int) -> None:
        self._take(count)
        self._file.seek(count, io.SEEK_CUR)  # beyond the end the next read finds nothing

    def _take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise UnusableArtifact(f"the GGUF header has more than {MAX_HEADER_BYTES >> 20} MiB")


def _scalar(kind: int) -> str:
    if kind not in SCALARS:
        raise UnusableArtifact(f"the GGUF header has values of an unknown type ({kind})")
    return SCALARS[kind]


def _bound(what: str, count: int, most: int) -> int:
    if count > most:
        raise UnusableArtifact(f"the GGUF header has {count} {what}; at most {most} are read")
    return count
