"""The size of a model's files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from backends.model_shape import AttentionLayers
from config.settings import ROOT, ModelDefinition
from workers.model_files import MIB, files_digests, model_shape, size_mib


def file(path: Path, mib: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        out.truncate(int(mib * MIB))  # a sparse file: it takes no space on the disk
    return path


def gguf(path: Path | str) -> ModelDefinition:
    return ModelDefinition("alpha", "llama_cpp", str(path))


def test_a_file_counts_in_whole_mebibytes_rounded_up(tmp_path: Path) -> None:
    assert size_mib(gguf(file(tmp_path / "a.gguf", 3))) == 3
    assert size_mib(gguf(file(tmp_path / "b.gguf", 3.01))) == 4
    assert size_mib(gguf(file(tmp_path / "c.gguf", 1 / MIB))) == 1


def test_a_file_in_parts_counts_with_all_of_them_and_no_other(tmp_path: Path) -> None:
    first = file(tmp_path / "big-00001-of-00003.gguf", 5)
    file(tmp_path / "big-00002-of-00003.gguf", 5)
    file(tmp_path / "big-00003-of-00003.gguf", 2)
    file(tmp_path / "big-00001-of-00002.gguf", 100)
    file(tmp_path / "bigger-00001-of-00003.gguf", 100)
    file(tmp_path / "big-00001-of-00003.gguf.part", 100)
    assert size_mib(gguf(first)) == 12


def test_the_name_of_a_file_in_parts_is_no_pattern(tmp_path: Path) -> None:
    first = file(tmp_path / "q4+(k).m-00001-of-00002.gguf", 5)
    file(tmp_path / "q4+(k).m-00002-of-00002.gguf", 5)
    file(tmp_path / "q4+(k)xm-00002-of-00002.gguf", 100)
    assert size_mib(gguf(first)) == 10


def test_a_folder_counts_with_its_weights(tmp_path: Path) -> None:
    file(tmp_path / "model-00001-of-00002.safetensors", 7)
    file(tmp_path / "model-00002-of-00002.safetensors", 2)
    file(tmp_path / "tokenizer.json", 100)
    file(tmp_path / "checkpoints" / "old.safetensors", 100)
    assert size_mib(ModelDefinition("alpha", "vllm", str(tmp_path))) == 9


def test_a_folder_without_weights_counts_with_all_its_files(tmp_path: Path) -> None:
    file(tmp_path / "tree.npz", 7)
    file(tmp_path / "vocabulary.txt", 1)
    assert size_mib(ModelDefinition("alpha", "ct2", str(tmp_path))) == 8


def test_files_loaded_beside_the_model_count_too(tmp_path: Path) -> None:
    options = {
        "llama_server_mmproj": str(file(tmp_path / "mmproj.gguf", 2)),
        "llama_server_draft_model": str(file(tmp_path / "draft.gguf", 3)),
        "llama_server_binary": str(file(tmp_path / "llama-server", 100)),
    }
    model = file(tmp_path / "model.gguf", 10)
    assert size_mib(ModelDefinition("alpha", "llama_server", str(model), options=options)) == 15
    assert size_mib(ModelDefinition("alpha", "llama_server", str(model))) == 10


@pytest.mark.parametrize(
    "path", ["/nowhere/model.gguf", "/nowhere/big-00001-of-00002.gguf", "google/gemma-3"]
)
def test_a_path_that_does_not_exist_has_no_size(path: str) -> None:
    assert size_mib(gguf(path)) is None


def test_a_model_without_a_path_or_with_an_empty_folder_has_no_size(tmp_path: Path) -> None:
    assert size_mib(ModelDefinition("alpha", "stub")) is None
    assert size_mib(gguf(tmp_path)) is None


def test_a_remote_model_has_no_size(tmp_path: Path) -> None:
    path = file(tmp_path / "a.gguf", 3)
    assert size_mib(ModelDefinition("alpha", "openai_remote", str(path))) is None


def test_the_digest_of_files_changes_with_their_names_sizes_and_contents(tmp_path: Path) -> None:
    def digests(path: Path) -> str:
        return files_digests([gguf(path)], "cpu")["files of alpha"]

    path = file(tmp_path / "a" / "m.gguf", 1)
    before = digests(path)
    assert digests(file(tmp_path / "b" / "m.gguf", 1)) == before, "the folder does not count"
    assert digests(file(tmp_path / "b" / "n.gguf", 1)) != before
    assert digests(file(tmp_path / "c" / "m.gguf", 2)) != before
    with path.open("r+b") as data:
        data.seek(-1, 2)
        data.write(b"x")
    assert digests(path) != before
    assert digests(tmp_path / "none.gguf") == "missing"


def test_the_files_of_a_model_that_needs_another_device_have_no_digest(tmp_path: Path) -> None:
    on_a_gpu = replace(gguf(file(tmp_path / "m.gguf", 1)), device="cuda:1")
    assert files_digests([on_a_gpu], "cpu") == {}
    assert files_digests([on_a_gpu], "cuda").keys() == {"files of alpha"}


def test_the_loras_of_a_model_count(tmp_path: Path) -> None:
    model = ModelDefinition("alpha", "llama_server", str(file(tmp_path / "a.gguf", 3)))
    loras = {name: str(file(tmp_path / name, 2)) for name in ("pirate", "poet")}
    assert size_mib(replace(model, options={"llama_server_lora": loras})) == 7
    before = files_digests([replace(model, options={"llama_server_lora": loras})], "cpu")
    file(tmp_path / "poet", 4)
    assert files_digests([replace(model, options={"llama_server_lora": loras})], "cpu") != before


def test_the_shape_of_a_model_counts_projector_adapters_and_a_draft_that_is_used() -> None:
    demo = str(ROOT / "models" / "stoker-demo.gguf")
    size = Path(demo).stat().st_size
    plain = model_shape(ModelDefinition("m", "llama_server", demo))
    assert plain is not None
    assert (plain.attention, plain.context, plain.further) == ((AttentionLayers(3, 64, 64),), 4096, 0)
    options = {
        "llama_server_lora": {"a": demo},
        "llama_server_mmproj": demo,
        "llama_server_draft_model": demo,
    }
    more = model_shape(ModelDefinition("m", "llama_server", demo, options=options))
    assert more == replace(plain, further=size + plain.weights), "without a method no draft model is loaded"
    options["llama_server_spec_type"] = "draft-simple"
    drafting = model_shape(ModelDefinition("m", "llama_server", demo, options=options))
    assert drafting == replace(plain, further=size + plain.weights, draft=plain)


def test_a_model_without_readable_files_has_no_shape(tmp_path: Path) -> None:
    (tmp_path / "damaged.gguf").write_bytes(b"GGUF")
    assert model_shape(gguf(tmp_path / "damaged.gguf")) is None
    assert model_shape(gguf(tmp_path / "none.gguf")) is None
    assert model_shape(ModelDefinition("m", "vllm", str(tmp_path))) is None
    assert model_shape(ModelDefinition("m", "stub")) is None


def test_the_shape_of_a_folder_follows_its_config(tmp_path: Path) -> None:
    header = b'{"x":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}'
    weights = len(header).to_bytes(8, "little") + header + b"\0" * 4
    (tmp_path / "model.safetensors").write_bytes(weights)
    sizes = {"num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64}

    def attention(**config: object) -> tuple[AttentionLayers, ...]:
        (tmp_path / "config.json").write_text(json.dumps({**sizes, **config}))
        shape = model_shape(ModelDefinition("m", "vllm", str(tmp_path)))
        assert shape is not None
        assert shape.weights == len(weights)
        return shape.attention

    assert attention() == (AttentionLayers(4, 128, 128),)
    kinds = ["sliding_attention", "full_attention", "linear_attention", "full_attention"]
    assert attention(layer_types=kinds, sliding_window=512) == (
        AttentionLayers(1, 128, 128, 512),
        AttentionLayers(2, 128, 128),
    )
    assert attention(kv_lora_rank=512, qk_rope_head_dim=64) == (AttentionLayers(4, 576, 0),)
