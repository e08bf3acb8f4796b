"""Loads of a managed TGI: what is checked, and the sentence for each failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.base import LoadError
from backends.tgi.diagnosis import diagnose
from tests.backends.conftest import Start
from tests.backends.tgi.models import launcher_in, model_in


def failure(start: Start, folder: Path, **fields: object) -> str:
    with pytest.raises(LoadError) as caught:
        start(model_in(folder, **fields))
    assert caught.value.code == "load_failed"
    return str(caught.value)


@pytest.mark.rule("runner/tgi-state")
def test_the_facts_are_those_of_the_server_and_of_the_models_files(start: Start, tmp_path: Path) -> None:
    facts = start(model_in(tmp_path)).engine.facts
    assert (facts.version, facts.quantization, facts.kv_cache_mib) == ("3.3.7", "bf16", None)
    assert start(model_in(tmp_path, quantize="awq")).engine.facts.quantization == "awq"


def test_the_context_is_that_of_the_server_when_none_is_configured(start: Start, tmp_path: Path) -> None:
    assert start(model_in(tmp_path, max_total_tokens=None)).engine.context == 4096
    assert start(model_in(tmp_path, max_total_tokens=512)).engine.context == 512


def test_a_launcher_that_fails_is_diagnosed_from_its_log(start: Start, tmp_path: Path) -> None:
    (tmp_path / "fails").write_text("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB")
    assert failure(start, tmp_path).startswith("there is not enough memory for this model: use a smaller one")


def test_an_argument_that_the_launcher_does_not_know_is_named(start: Start, tmp_path: Path) -> None:
    assert failure(start, tmp_path, extra_args=["--speculation", "2"]) == (
        "this text-generation-launcher does not know the argument --speculation: correct tgi_extra_args, or"
        " use TGI 3.3"
    )


def test_a_server_that_does_not_require_its_key_is_not_used(start: Start, tmp_path: Path) -> None:
    program = launcher_in(tmp_path / "..")
    program.write_text(program.read_text().replace("exec ", "unset API_KEY\nexec "))
    assert failure(start, tmp_path, binary=str(program)) == "the engine does not require its key"


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (
            "ERROR: text-generation-server not found in PATH",
            "text-generation-server is",
        ),
        ("RuntimeError: No CUDA GPUs are available", "TGI finds no GPU that it was built for"),
        ("Error: Backend(NotEnoughMemory(32768))", "not enough memory for a context of 32768 tokens"),
        ("RuntimeError: Not enough memory to handle 4096 prefill tokens. You", "to read 4096 tokens at once"),
        (
            'Error: ArgumentValidation("`max_batch_prefill_tokens` must be >= `max_input_tokens`. Given: 4096'
            ' and 8191")',
            "in one step, of 4096 tokens at most, not 8191",
        ),
        (
            'Error: NotEnoughCUDADevices("`sharded` is true but only found 1 CUDA devices")',
            "correct tgi_num_shard",
        ),
        ("huggingface_hub.utils.RepositoryNotFoundError: 404 Client Error", "there is no such model"),
        ("401 Client Error. Cannot access gated repo for url", "the hub refuses access to this model"),
        ("FileNotFoundError: No local weights found in /m with extension .bin", "there are no weights"),
        ("ValueError: Unsupported model type rwkv9", "the architecture of this model (rwkv9)"),
        (
            "error: invalid value 'x' for '--dtype <DTYPE>'",
            "does not accept the value x of its argument --dtype",
        ),
        (
            'Error: ArgumentValidation("`validation_workers` must be > 0")',
            "rejects these options: `validation_",
        ),
    ],
)
def test_an_error_in_the_log_is_summarized_in_one_sentence(log: str, words: str) -> None:
    assert words in str(diagnose(f"INFO starting\n{log}\nError: ShardCannotStart\n"))
    assert diagnose("INFO Connected") is None
