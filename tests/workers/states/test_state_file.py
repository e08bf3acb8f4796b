"""The form of a saved state: what was written is read again, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest
from hypothesis import given, strategies

from backends.base import GenerationError
from workers.states.state_file import (
    HEADER_BYTES,
    MAX_NOTE_BYTES,
    StateHeader,
    read_header,
    read_state,
    write_state,
)

IDENTITY = {"engine": "llama_cpp 1", "context": "4096", "model digest": "ab"}
PAYLOAD, NOTE = b"state " * 1000, b"a prompt"
HEADER = StateHeader("a" * 32, IDENTITY, 7, len(NOTE), len(PAYLOAD))


def never() -> None:
    pass


def written(folder: Path, header: StateHeader = HEADER, note: bytes = NOTE) -> bytes:
    """The bytes of a state."""
    (folder / "engine").write_bytes(PAYLOAD)
    source, target = os.open(folder / "engine", os.O_RDONLY), os.open(folder / "new", os.O_RDWR | os.O_CREAT)
    try:
        size = write_state(source, target, header, note, never)
    finally:
        os.close(source)
        os.close(target)
    state = (folder / "new").read_bytes()
    assert len(state) == size
    return state


def read(folder: Path, state: bytes) -> tuple[StateHeader, bytes, bytes]:
    """The header, the note and the engine's part of a file with this content."""
    (folder / "state").write_bytes(state)
    source = os.open(folder / "state", os.O_RDONLY)
    target = os.open(folder / "copy", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    try:
        return read_header(source), read_state(source, target, never), (folder / "copy").read_bytes()
    finally:
        os.close(source)
        os.close(target)


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read(tmp_path, written(tmp_path)) == (HEADER, NOTE, PAYLOAD)


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A folder, and the bytes of a state."""
    folder = tmp_path_factory.mktemp("state")
    return folder, written(folder)


@given(data=strategies.data())
def test_a_state_with_any_other_byte_is_refused_and_leaves_the_engine_nothing(
    state: tuple[Path, bytes], data: strategies.DataObject
) -> None:
    folder, good = state
    used = good.rstrip(b" \n")[:HEADER_BYTES].rstrip(b" \n")
    places = strategies.integers(0, len(used) - 1) | strategies.integers(HEADER_BYTES, len(good) - 1)
    at = data.draw(places)
    changed = bytearray(good)
    changed[at] ^= data.draw(strategies.integers(1, 255))
    with pytest.raises(GenerationError) as refused:
        read(folder, bytes(changed))
    assert refused.value.code == "state_unusable"
    assert (folder / "copy").read_bytes() == b""


@given(size=strategies.integers(0, HEADER_BYTES + len(NOTE) + len(PAYLOAD) - 1))
def test_a_part_of_a_state_is_refused(state: tuple[Path, bytes], size: int) -> None:
    folder, good = state
    with pytest.raises(GenerationError):
        read(folder, good[:size])


@given(content=strategies.binary(max_size=300))
def test_any_other_content_is_refused(state: tuple[Path, bytes], content: bytes) -> None:
    folder, good = state
    for bad in (content, content.ljust(HEADER_BYTES, b" "), good[:15] + content.ljust(HEADER_BYTES, b" ")):
        with pytest.raises(GenerationError):
            read(folder, bad)


@pytest.mark.parametrize(
    "fields",
    [
        *('{"tokens":-1}', '{"note_bytes":-8}', '{"engine_bytes":true}', '{"tokens":1.5}', '{"identity":[]}'),
        *('{"identity":{"a":1}}', f'{{"note_bytes":{MAX_NOTE_BYTES + 1}}}', '{"more":1}', "[]", "null"),
    ],
)
def test_a_header_with_odd_fields_is_refused(tmp_path: Path, fields: str) -> None:
    whole = {"namespace": "a", "identity": {}, "tokens": 1, "note_bytes": 0, "engine_bytes": 0, "sha256": ""}
    changed = orjson.loads(fields)
    body = orjson.dumps({**whole, **changed} if isinstance(changed, dict) else changed)
    with pytest.raises(GenerationError):
        read(tmp_path, (b"stoker-state 1\n" + body).ljust(HEADER_BYTES, b" "))


@pytest.mark.parametrize("name", [*IDENTITY, "KV types"])
def test_a_state_of_another_identity_is_refused_with_what_differs(name: str) -> None:
    HEADER.check("a" * 32, IDENTITY)
    with pytest.raises(GenerationError, match=f"another {name}"):
        HEADER.check("a" * 32, {**IDENTITY, name: "other"})
    with pytest.raises(GenerationError, match="flush"):
        HEADER.check("b" * 32, IDENTITY)


def test_an_engines_file_that_changes_while_it_is_copied_makes_no_state(tmp_path: Path) -> None:
    longer = StateHeader("a", IDENTITY, 7, len(NOTE), len(PAYLOAD) + 1)
    with pytest.raises(GenerationError):
        written(tmp_path, longer)
