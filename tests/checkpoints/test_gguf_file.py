"""Reading GGUF files: the demo model, and files that the tests write byte by byte."""

from __future__ import annotations

import struct
from array import array
from pathlib import Path

import pytest

from tests.checkpoints import gguf_file
from tests.checkpoints.fixtures import DEMO_MODEL

F16 = 1


def text(of: str) -> bytes:
    data = of.encode()
    return struct.pack("<Q", len(data)) + data


def a_file(path: Path, kind: int, shape: tuple[int, ...], data: bytes, *, version: int = 3) -> Path:
    """A file with one setting and one tensor. `shape` is in the order of numpy."""
    head = (
        b"GGUF" + struct.pack("<IQQ", version, 1, 1) + text("a.name") + struct.pack("<I", 8) + text("naïve")
    )
    sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
    head += text("weight") + sizes + struct.pack("<IQ", kind, 0)
    path.write_bytes(head + bytes(-len(head) % 32) + data)
    return path


def test_f32_weights_are_read(tmp_path: Path) -> None:
    numbers = [0.5, -1.25, 3.0, 1e-3, 0.0, 2.0]
    read = gguf_file.read(a_file(tmp_path / "f32", gguf_file.F32, (2, 3), struct.pack("<6f", *numbers)))
    assert read.settings == {"a.name": "naïve"}
    assert read.tensors["weight"].shape == (2, 3)
    assert list(read.tensors["weight"].numbers) == pytest.approx(numbers)


def test_an_encoded_file_is_read_back(tmp_path: Path) -> None:
    settings = {
        **{"flag": True, "count": 70_000, "share": 0.5, "name": "naïve"},
        **{"tokens": ["a", "ß"], "types": [1, -3], "means": [0.5, -0.25]},
    }
    tensors = {
        "one": gguf_file.Tensor((3,), array("f", [1.0, -2.0, 0.5])),
        "two": gguf_file.Tensor((2, 5), array("f", range(10))),
    }
    path = tmp_path / "again.gguf"
    path.write_bytes(gguf_file.encode(gguf_file.GgufFile(settings, tensors)))
    assert gguf_file.read(path) == gguf_file.GgufFile(settings, tensors)


def test_each_block_of_q8_0_has_its_own_scale(tmp_path: Path) -> None:
    blocks = struct.pack("<e32b", 0.25, *range(-16, 16)) + struct.pack("<e32b", -2.0, *[127, *[-128] * 31])
    read = gguf_file.read(a_file(tmp_path / "q8_0", gguf_file.Q8_0, (2, 32), blocks)).tensors["weight"]
    assert list(read.numbers[:32]) == [step / 4 for step in range(-16, 16)]
    assert list(read.numbers[32:]) == [-254.0, *[256.0] * 31]


@pytest.mark.parametrize(
    ("kind", "version", "message"),
    [(F16, 3, "GGML type 1"), (gguf_file.F32, 2, "no GGUF file of version 3")],
)
def test_an_unsupported_file_is_refused(tmp_path: Path, kind: int, version: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gguf_file.read(a_file(tmp_path / "odd", kind, (2,), bytes(8), version=version))


def test_the_demo_model_is_read() -> None:
    model = gguf_file.read(DEMO_MODEL)
    assert model.settings["general.architecture"] == "qwen3"
    assert len(model.settings["tokenizer.ggml.tokens"]) == 1024
    assert sum(len(tensor.numbers) for tensor in model.tensors.values()) == 721_984  # models/demo/README.md
