"""The weights of folders: safetensors, EXL3 and CTranslate2; damaged and hostile ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from config.settings import ROOT
from fleet.artifacts import checkpoint
from fleet.artifacts.errors import UnusableArtifact
from fleet.artifacts.read import read_artifact

SIZES = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64, "max_position_embeddings": 512}


def safetensors(dtype: str = "BF16") -> bytes:
    header = json.dumps({"x": {"dtype": dtype, "shape": [2], "data_offsets": [0, 4]}}).encode()
    return len(header).to_bytes(8, "little") + header + b"\0" * 4


def folder(path: Path, files: dict[str, bytes] | None = None, **config: Any) -> Path:
    path.mkdir(parents=True)
    given = {"config.json": json.dumps({**SIZES, **config}).encode(), "model.safetensors": safetensors()}
    for name, data in {**given, **(files or {})}.items():
        if data:
            (path / name).write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("config", "form", "quantization"),
    [
        ({"torch_dtype": "bfloat16"}, "safetensors", "bf16"),
        ({"dtype": "float16"}, "safetensors", "fp16"),
        ({}, "safetensors", "bf16"),
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, "safetensors", "awq-4bit"),
        ({"quantization_config": {"quant_method": "awq", "w_bit": 4}}, "safetensors", "awq-4bit"),
        ({"quantization_config": {"quant_method": "gptq", "bits": 8}}, "safetensors", "gptq-8bit"),
        ({"quantization_config": {"quant_method": "fp8"}}, "safetensors", "fp8"),
        (
            {"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}},
            "safetensors",
            "bitsandbytes-4bit",
        ),
        ({"quantization_config": {"quant_method": "exl3", "bits": 4.25}}, "exl3", "exl3-4.25bpw"),
        ({"quantization_config": {"quant_method": "exl3"}}, "exl3", "exl3"),
        ({"quantization_config": {}}, "safetensors", "unknown"),
        ({"quantization_config": "x", "torch_dtype": ["x"]}, "safetensors", "bf16"),
    ],
)
def test_the_configuration_determines_the_form_and_the_type(
    tmp_path: Path, config: dict[str, Any], form: str, quantization: str
) -> None:
    weights = read_artifact(folder(tmp_path / "m", **config), tmp_path).weights
    assert (weights.form, weights.quantization, weights.context) == (form, quantization, 512)
    assert weights.cache_bytes == 2 * 4 * 16 * 2 * 2


def test_the_text_part_of_a_model_with_images_counts(tmp_path: Path) -> None:
    inner = {**SIZES, "num_hidden_layers": 6, "dtype": "float16"}
    weights = read_artifact(folder(tmp_path / "m", text_config=inner), tmp_path).weights
    assert (weights.layers, weights.quantization) == (6, "fp16")


@pytest.mark.parametrize("name", ["models/stoker-translator", "tests/checkpoints/opus"])
def test_a_model_of_ctranslate2_is_no_pickle(name: str) -> None:
    weights = read_artifact(ROOT / name, ROOT).weights
    assert (weights.form, weights.architecture) == ("ct2", "TransformerSpec")


def test_a_whisper_model_is_a_form_of_its_own() -> None:
    weights = read_artifact(ROOT / "models/stoker-whisper", ROOT).weights
    assert (weights.form, weights.architecture) == ("whisper", "WhisperSpec")
    assert weights.size_bytes == (ROOT / "models/stoker-whisper/model.bin").stat().st_size


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"\x06\0\0\0\x0d\0Wav2Vec2Spec\0", "is a Wav2Vec2Spec of CTranslate2"),
        (b"\x06\0\0\0\x0c\0WhisperSpec\0", "has no tokenizer.json: convert the model again"),
    ],
)
def test_a_model_of_ctranslate2_that_no_backend_runs_is_refused(
    tmp_path: Path, head: bytes, words: str
) -> None:
    files = {"model.safetensors": b"", "model.bin": head + bytes(100)}
    with pytest.raises(UnusableArtifact, match=words):
        read_artifact(folder(tmp_path / "m", files), tmp_path)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"model.safetensors": b""}, "has no weights"),
        ({"model.safetensors": b"", "model.bin": b"\x80\x04" * 100}, "model.bin is a pickle file"),
        ({"model.safetensors": b"", "model.bin": b"PK\x03\x04" * 100}, "model.bin is a pickle file"),
        ({"model.safetensors": b"", "model.bin": b"\x06"}, "model.bin is a pickle file"),
        ({"config.json": b""}, "has no config.json"),
        ({"config.json": b"{"}, "is not valid JSON"),
        ({"config.json": b"[" * 100_000}, "is not valid JSON"),
        ({"config.json": b"[]"}, "is not a JSON object"),
        ({"config.json": b"{}" + b" " * (4 << 20)}, "has more than 4 MiB"),
        ({"model.safetensors": b"\xff" * 8}, "is not a safetensors file"),
        ({"model.safetensors": b"\x02"}, "is not a safetensors file"),
        ({"model.safetensors": (1 << 40).to_bytes(8, "little") + b"{}"}, "is not a safetensors file"),
        ({"model.safetensors": (2).to_bytes(8, "little") + b"{]"}, "is not valid JSON"),
        (
            {"model.safetensors.index.json": b'{"weight_map": {"a": "b.safetensors"}}'},
            "b.safetensors is missing",
        ),
        ({"model.safetensors.index.json": b"{}"}, "is missing, a part"),
        ({"model.safetensors.index.json": b'{"weight_map": {"a": [1]}}'}, "is missing, a part"),
    ],
)
def test_a_folder_that_is_no_model_is_refused(tmp_path: Path, files: dict[str, bytes], message: str) -> None:
    with pytest.raises(UnusableArtifact, match=message):
        read_artifact(folder(tmp_path / "m", files), tmp_path)


def test_a_header_in_which_each_tensor_has_another_type_is_read_in_one_pass(tmp_path: Path) -> None:
    entries = b",".join(b'"%d":{"dtype":"%d"}' % (at, at) for at in range(300_000))
    shard = (len(entries) + 2).to_bytes(8, "little") + b"{" + entries + b"}"
    assert read_artifact(folder(tmp_path / "m", {"model.safetensors": shard}), tmp_path).weights


def test_safetensors_come_before_pickle_files_beside_them(tmp_path: Path) -> None:
    made = folder(tmp_path / "m", {"pytorch_model.bin": b"\x80\x04"})
    assert read_artifact(made, tmp_path).weights.form == "safetensors"


def test_a_folder_with_too_many_entries_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleet.artifacts.read.MAX_FILES", 3)
    made = folder(tmp_path / "m", {"a": b"x", "b": b"x"})
    with pytest.raises(UnusableArtifact, match="more than 3 entries"):
        read_artifact(made, tmp_path)


def test_the_digest_follows_names_sizes_and_both_ends(tmp_path: Path) -> None:
    made = folder(tmp_path / "m")
    digests = {read_artifact(made, tmp_path).digest}
    (made / "chat_template.jinja").write_text("{{ x }}")
    digests.add(read_artifact(made, tmp_path).digest)
    (made / "chat_template.jinja").write_text("{{ y }}")
    digests.add(read_artifact(made, tmp_path).digest)
    (made / "chat_template.jinja").rename(made / "other.jinja")
    digests.add(read_artifact(made, tmp_path).digest)
    assert len(digests) == 4


def test_the_header_of_safetensors_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "MAX_HEADER_BYTES", 10)
    with pytest.raises(UnusableArtifact, match="is not a safetensors file"):
        read_artifact(folder(tmp_path / "m"), tmp_path)
