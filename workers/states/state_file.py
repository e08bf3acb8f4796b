"""The form of a saved state: a header of ours, and what the engine wrote.

    "stoker-state 1\\n" and the header as one line of JSON, filled with spaces to HEADER_BYTES
    the engine's note   (`backends.base.SavedSequence`)
    the engine's file

The header names what the state depends on, and the SHA-256 of all that follows and of itself. No engine reads
a file whose digest is wrong: llama.cpp's own reader is not made for files that somebody may have changed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from backends.base import GenerationError

MAGIC = b"stoker-state 1\n"
HEADER_BYTES = 8192
CHUNK = 1 << 20
MAX_NOTE_BYTES = 1 << 20

ALTERED = "the file of the state is damaged: its digest is not that of its content"
NO_STATE = "the file is not a saved state of this version"

Stop = Callable[[], None]
"""Called between two chunks; raises an error to end the copy."""


@dataclass(frozen=True)
class StateHeader:
    """What a state depends on, and the sizes of its parts.

    `namespace` is the cache namespace: it follows from the tenant, the model, the tag and the epochs of
    flushes, so a state of any other is not restored. `identity` is that of the model's files and of the
    engine.
    """

    namespace: str
    identity: Mapping[str, str]
    tokens: int
    note_bytes: int
    engine_bytes: int

    def check(self, namespace: str, identity: Mapping[str, str]) -> None:
        """Raise `GenerationError` (state_unusable) if the state was saved under anything else."""
        if self.namespace != namespace:
            raise GenerationError(
                "state_unusable", "the state was saved before a flush, or for another model or cache tag"
            )
        for name in sorted({*self.identity, *identity}):
            if self.identity.get(name) != identity.get(name):
                raise GenerationError(
                    "state_unusable",
                    f"the state was saved with another {name}: {self.identity.get(name, 'none')}, now"
                    f" {identity.get(name, 'none')}",
                )


def write_state(source: int, target: int, header: StateHeader, note: bytes, stop: Stop) -> int:
    """Write a state to an empty file, from the engine's file. Returns its size. Raises `OSError`.

    Both are descriptors. The header comes last, so that a part of a file is none.
    """
    fields = _fields(header)
    digest = hashlib.sha256(fields)
    os.lseek(target, HEADER_BYTES, os.SEEK_SET)
    _write(target, note, digest)
    copied = 0
    while chunk := os.read(source, CHUNK):
        stop()
        _write(target, chunk, digest)
        copied += len(chunk)
    if copied != header.engine_bytes:
        raise GenerationError("engine_error", "the engine changed its file while it was saved")
    line = orjson.dumps({**orjson.loads(fields), "sha256": digest.hexdigest()})
    block = (MAGIC + line).ljust(HEADER_BYTES - 1) + b"\n"
    if len(block) != HEADER_BYTES:
        raise GenerationError("engine_error", "the engine's options do not fit into the header of a state")
    os.pwrite(target, block, 0)
    os.fsync(target)
    return HEADER_BYTES + len(note) + copied


def read_header(source: int) -> StateHeader:
    """Read the header of a file. Raises `GenerationError` (state_unusable) and `OSError`."""
    return _read_block(source)[0]


def read_state(source: int, target: int, stop: Stop) -> bytes:
    """Copy the engine's part to an empty file, and return the note. Raises as `read_header`.

    Raises also if the content is not what was written; `target` has nothing then that an engine may read.
    """
    header, wanted = _read_block(source)
    digest = hashlib.sha256(_fields(header))
    os.lseek(source, HEADER_BYTES, os.SEEK_SET)
    note = _read_exactly(source, header.note_bytes)
    digest.update(note)
    left = header.engine_bytes
    while left and (chunk := os.read(source, min(CHUNK, left))):
        stop()
        _write(target, chunk, digest)
        left -= len(chunk)
    if left or os.read(source, 1) or digest.hexdigest() != wanted:
        os.ftruncate(target, 0)
        raise GenerationError("state_unusable", ALTERED)
    return note


def _fields(header: StateHeader) -> bytes:
    return orjson.dumps(header, option=orjson.OPT_SORT_KEYS)


def _read_block(source: int) -> tuple[StateHeader, str]:
    """The header, and the digest that it has."""
    block = os.pread(source, HEADER_BYTES, 0)
    try:
        if len(block) != HEADER_BYTES or not block.startswith(MAGIC):
            raise ValueError
        fields: dict[str, Any] = orjson.loads(block[len(MAGIC) :])
        digest = str(fields.pop("sha256"))
        header = StateHeader(**fields)
        sizes = header.tokens, header.note_bytes, header.engine_bytes
        if not all(type(size) is int and size >= 0 for size in sizes) or header.note_bytes > MAX_NOTE_BYTES:
            raise ValueError
        if not all(isinstance(text, str) for text in (*header.identity, *header.identity.values())):
            raise ValueError
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise GenerationError("state_unusable", NO_STATE) from error
    return header, digest


def _read_exactly(source: int, size: int) -> bytes:
    data = b""
    while len(data) < size and (chunk := os.read(source, size - len(data))):
        data += chunk
    return data


def _write(target: int, data: bytes, digest: Any) -> None:
    digest.update(data)
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]
