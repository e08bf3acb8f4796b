"""The header of GGUF files: what it says, and that a hostile one costs little."""

from __future__ import annotations

import struct
from array import array
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.settings import ROOT
from fleet.artifacts import gguf_header, gguf_weights
from fleet.artifacts.errors import UnusableArtifact
from fleet.artifacts.gguf_header import ListLength, read_gguf_header
from fleet.artifacts.gguf_weights import read_gguf_weights
from tests.checkpoints import gguf_file
from tests.checkpoints.gguf_file import GgufFile, Tensor

DEMO = ROOT / "models" / "stoker-demo.gguf"


def write(folder: Path, settings: dict[str, object], name: str = "x.gguf", tensors: int = 1) -> Path:
    numbers = {f"blk.{at}.w": Tensor((2, 32), array("f", [0.0] * 64)) for at in range(tensors)}
    path = folder / name
    path.write_bytes(gguf_file.encode(GgufFile(settings, numbers)))
    return path


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def head(tensors: int, settings: int, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, settings)


def test_the_header_of_the_demo_model_has_its_settings_and_sizes() -> None:
    header = read_gguf_header(DEMO)
    assert header.settings["general.architecture"] == "qwen3"
    assert header.settings["tokenizer.ggml.tokens"] == ListLength(1024)
    assert header.settings["tokenizer.chat_template"] == "", "long texts are not kept"
    whole = gguf_file.read(DEMO)
    assert [tensor.name for tensor in header.tensors] == list(whole.tensors)
    assert sum(tensor.bytes for tensor in header.tensors) < DEMO.stat().st_size


def test_the_items_of_a_list_are_read_when_they_are_asked_for() -> None:
    tokens, types = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
    settings = read_gguf_header(DEMO, whole_lists=(tokens, types)).settings
    assert len(settings[tokens]) == len(settings[types]) == 1024
    assert b"<|im_end|>" in settings[tokens]
    assert isinstance(settings["tokenizer.ggml.merges"], ListLength)


def test_the_weights_of_the_demo_model_are_read_from_its_header() -> None:
    weights = read_gguf_weights(DEMO)
    assert (weights.form, weights.quantization, weights.layers) == ("gguf", "q8_0", 3)
    assert (weights.context, weights.vocabulary) == (4096, 1024)
    assert weights.cache_bytes == 3 * 2 * (32 + 32) * 2
    assert weights.layer_bytes
    inside = weights.layer_bytes * 3
    assert inside < weights.size_bytes == DEMO.stat().st_size


@pytest.mark.parametrize(
    ("number", "name"), [(0, "fp32"), (1, "fp16"), (7, "q8_0"), (15, "q4_k_m"), (32, "bf16")]
)
def test_the_type_of_a_file_is_the_one_that_its_header_names(tmp_path: Path, number: int, name: str) -> None:
    assert read_gguf_weights(write(tmp_path, {"general.file_type": number})).quantization == name


def test_a_cache_with_other_heads_in_each_layer_is_unknown(tmp_path: Path) -> None:
    settings = {
        "general.architecture": "x",
        "x.block_count": 2,
        "x.embedding_length": 64,
        "x.attention.head_count": 4,
        "x.attention.head_count_kv": [2, 4],
    }
    assert read_gguf_weights(write(tmp_path, settings)).cache_bytes is None
    settings["x.attention.head_count_kv"] = 2
    assert read_gguf_weights(write(tmp_path, settings)).cache_bytes == 2 * 2 * 32 * 2


def test_a_model_in_parts_is_read_as_a_whole(tmp_path: Path) -> None:
    parts = [write(tmp_path, {}, f"m-0000{at}-of-00002.gguf") for at in (1, 2)]
    assert read_gguf_weights(parts[0]).size_bytes == sum(part.stat().st_size for part in parts)
    with pytest.raises(UnusableArtifact, match="is not the first part"):
        read_gguf_weights(parts[1])
    parts[1].unlink()
    with pytest.raises(UnusableArtifact, match=r"m-00002-of-00002\.gguf is missing"):
        read_gguf_weights(parts[0])


HOSTILE = {
    "empty": b"",
    "another magic": b"GGML" + bytes(20),
    "version 1": head(0, 0, 1),
    "big-endian": b"GGUF" + struct.pack(">IQQ", 3, 1, 1),
    "endless settings": head(0, 2**63),
    "endless tensors": head(2**63, 0),
    "a long key": head(0, 1) + struct.pack("<Q", 2**62),
    "a long text": head(0, 1) + text("a") + struct.pack("<IQ", 8, 2**62),
    "a long list of numbers": head(0, 1) + text("a") + struct.pack("<IIQ", 9, 4, 2**62),
    "a long list of texts": head(0, 1) + text("a") + struct.pack("<IIQ", 9, 8, 2**62),
    "a list of lists": head(0, 1) + text("a") + struct.pack("<IIQ", 9, 9, 1) + bytes(100),
    "an unknown type": head(0, 1) + text("a") + struct.pack("<I", 99),
    "no text": head(0, 1) + struct.pack("<Q", 2) + b"\xff\xfe",
    "many dimensions": head(1, 0) + text("t") + struct.pack("<I", 2**31),
    "a text beyond the end": head(0, 2) + text("a") + struct.pack("<IQ", 8, 10_000),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_header_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(data)
    with pytest.raises(UnusableArtifact):
        read_gguf_header(path)


def test_no_more_is_read_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf_header, "MAX_HEADER_BYTES", 1000)
    with pytest.raises(UnusableArtifact, match="more than"):
        read_gguf_header(DEMO)


def test_the_texts_of_all_lists_and_parts_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gguf_header, "MAX_TEXTS", 3)
    monkeypatch.setattr(gguf_weights, "MAX_TEXTS", 3)
    assert read_gguf_header(write(tmp_path, {"a": ["x"] * 3})).texts == 3
    with pytest.raises(UnusableArtifact, match="4 texts in lists"):
        read_gguf_header(write(tmp_path, {"a": ["x"] * 2, "b": ["x"] * 2}))
    first, _ = (write(tmp_path, {"a": ["x"] * 2}, f"m-0000{at}-of-00002.gguf") for at in (1, 2))
    with pytest.raises(UnusableArtifact, match="too many tensors or texts"):
        read_gguf_weights(first)


@given(at=st.integers(0, 4000), byte=st.integers(0, 255))
def test_one_changed_byte_of_a_header_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: int
) -> None:
    data = bytearray(DEMO.read_bytes()[:40_000])
    data[at] = byte
    path = tmp_path_factory.getbasetemp() / "changed.gguf"
    path.write_bytes(data)
    with suppress(UnusableArtifact):  # and nothing else is raised
        read_gguf_header(path)


def test_the_tensors_of_an_unknown_type_have_the_bytes_up_to_the_next_tensor(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    sizes = (struct.pack("<IQIQ", 1, 32, kind, offset) for kind, offset in ((999, 0), (0, 96)))
    path.write_bytes(head(2, 0) + b"".join(text(name) + size for name, size in zip("ab", sizes, strict=True)))
    first, second = read_gguf_header(path).tensors
    assert (first.type, first.bytes) == ("type 999", 96)
    assert (second.begin - first.begin, second.bytes) == (96, 128)


def test_one_text_is_kept_whole_and_short_lists_of_numbers_are_kept(tmp_path: Path) -> None:
    path = write(tmp_path, {"template": "x" * 5000, "other": "y" * 5000, "heads": [4, 0, 4]})
    settings = read_gguf_header(path, "template").settings
    assert (settings["template"], settings["other"], settings["heads"]) == ("x" * 5000, "", (4, 0, 4))
