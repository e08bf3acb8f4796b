"""Reads the header of a GGUF file, within bounds: its settings and the sizes of its tensors.

The format is ggml's docs/gguf.md, versions 2 and 3. The numbers in a file are not trusted: what is read is
bounded before it is read.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
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
MAX_WHOLE_TEXT = 1024 * 1024  # of one text that is asked for
MAX_DIMENSIONS = 8
MAX_KEPT_NUMBERS = 1024  # of a list: a number for each layer
ALIGNMENT = 32  # unless the file names another one

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
    """A tensor: its name, the name of its type, its bytes, and where its numbers begin in the file.

    The bytes of a type that is not in `TYPES` are those up to the next tensor.
    """

    name: str
    type: str
    bytes: int
    begin: int = 0


@dataclass(frozen=True, slots=True)
class ListLength:
    """What is kept of a list."""

    length: int


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The settings and the tensors of one file.

    Short lists of numbers, and those that were asked for, are tuples (texts as bytes). Of other lists their
    `ListLength` is kept, of a long text nothing. `texts` is the number of texts in its lists.
    """

    settings: dict[str, Any]
    tensors: tuple[TensorSize, ...]
    texts: int = 0

    @property
    def architecture(self) -> str:
        """The name of the model's architecture; "" if the file names none."""
        return str(self.settings.get("general.architecture", ""))

    @property
    def end(self) -> int:
        """How many bytes the file has at least; 0 without tensors."""
        return max((tensor.begin + tensor.bytes for tensor in self.tensors), default=0)

    def of_architecture(self, name: str) -> Any:
        """A setting of the model's architecture; None if there is none."""
        return self.settings.get(f"{self.architecture}.{name}")

    def number(self, name: str) -> int | None:
        """A setting of the model's architecture that is a positive integer; None if there is none."""
        value = self.of_architecture(name)
        return value if isinstance(value, int) and value > 0 else None


def read_gguf_header(path: Path, whole_text: str = "", whole_lists: Collection[str] = ()) -> GgufHeader:
    """Read a file's header, with the whole text of the setting `whole_text`, and all of `whole_lists`.

    Raises `UnusableArtifact`, `OSError`.
    """
    with path.open("rb") as file:
        try:
            return _Reader(file, whole_text, whole_lists).header()
        except (struct.error, UnicodeDecodeError, EOFError, OverflowError):
            raise UnusableArtifact(f"{path.name} is damaged: its GGUF header is incomplete") from None


def is_gguf(path: Path) -> bool:
    """Whether a file begins as GGUF does. Raises `OSError`."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


class _Reader:
    def __init__(self, file: BinaryIO, whole_text: str, whole_lists: Collection[str]) -> None:
        self._file = file
        self._whole_text = whole_text
        self._whole_lists = whole_lists
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
        values = {}
        for _ in range(settings):
            name = self._text()
            longest = MAX_WHOLE_TEXT if name == self._whole_text else MAX_KEPT_TEXT
            values[name] = self._value(self._unpack("I")[0], longest, whole=name in self._whole_lists)
        found = [self._tensor() for _ in range(tensors)]
        alignment = values.get("general.alignment", ALIGNMENT)
        if not isinstance(alignment, int) or not 0 < alignment <= MAX_HEADER_BYTES:
            raise UnusableArtifact(f"the file has an alignment of {alignment}")
        position = MAX_HEADER_BYTES - self._left
        begin = -(-position // alignment) * alignment
        return GgufHeader(values, tuple(self._placed(found, begin)), self._texts)

    def _placed(self, tensors: Sequence[tuple[str, int, int, int]], begin: int) -> Iterator[TensorSize]:
        """The tensors, whose numbers begin `begin` bytes after the begin of the file."""
        offsets = sorted(offset for _, _, _, offset in tensors)
        ends = dict(pairwise(offsets))
        for name, kind, numbers, offset in tensors:
            if kind in TYPES:
                type_name, block, size = TYPES[kind]
                length = -(-numbers // block) * size
            else:
                type_name, length = f"type {kind}", ends.get(offset, offset) - offset
            yield TensorSize(name, type_name, length, begin + offset)

    def _tensor(self) -> tuple[str, int, int, int]:
        """A tensor's name, the number of its type, how many numbers it has, and its offset."""
        name = self._text()
        (dimensions,) = self._unpack("I")
        _bound("dimensions of a tensor", dimensions, MAX_DIMENSIONS)
        shape = self._unpack(f"{dimensions}Q")
        kind, offset = self._unpack("IQ")
        return name, kind, prod(shape), offset

    def _value(self, kind: int, longest: int, *, whole: bool) -> Any:
        if kind == TEXT:
            return self._text(longest)
        if kind == LIST:
            return self._list(whole=whole)
        return self._unpack(_scalar(kind))[0]

    def _list(self, *, whole: bool) -> Any:
        item, count = self._unpack("IQ")
        if item == TEXT:
            self._texts = _bound("texts in lists", self._texts + count, MAX_TEXTS)
            read = self._bytes if whole else self._skip
            texts = [read(int.from_bytes(self._bytes(8), "little")) for _ in range(count)]
            return tuple(texts) if whole else ListLength(count)
        if whole or count <= MAX_KEPT_NUMBERS:
            return self._unpack(f"{count}{_scalar(item)}")
        self._skip(count * struct.calcsize("<" + _scalar(item)))
        return ListLength(count)

    def _text(self, longest: int = MAX_KEPT_TEXT) -> str:
        """A text; of a longer one nothing."""
        (length,) = self._unpack("Q")
        if length > longest:
            self._skip(length)
            return ""
        return self._bytes(length).decode("utf-8", "replace" if longest > MAX_KEPT_TEXT else "strict")

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
