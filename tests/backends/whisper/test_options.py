"""The options of the engine process, the checks before it starts, and how requests are encoded for it."""

from __future__ import annotations

import shutil
from math import ceil
from pathlib import Path

import orjson
import pytest

from backends.base import GenerationError, LoadError
from backends.catalogue import BACKENDS
from backends.model_shape import Device
from backends.whisper.adapter import NAMES, _encoder, _environment, _options
from config.settings import ModelDefinition
from generation.generation import Generation
from generation.media import AudioTask, SpeechTask
from tests.backends.conftest import ask
from tests.backends.whisper.speech import CLIPS, MODEL, JobFolders, whisper
from workers.model_files import model_shape


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the model whose files a test may remove."""
    folder = tmp_path / "model"
    shutil.copytree(MODEL, folder)
    return folder


def test_the_engine_gets_all_options_of_the_model() -> None:
    model = whisper(whisper_beam_size=1, whisper_compute_type="int8", whisper_max_seconds=60)
    assert _options(model, 5) == {
        "model": str(MODEL),
        "slots": 5,
        "device": "cpu",
        "compute_type": "int8",
        "threads": 1,
        "beam_size": 1,
        "max_seconds": 60,
        "previous_text": True,
        "batch_wait_ms": None,
    }


@pytest.mark.parametrize(
    ("visible", "device", "chosen"),
    [("0", "auto", "cuda"), ("0", "cpu", "cpu"), ("", "auto", "cpu"), ("1", "cuda:1", "cuda")],
)
def test_a_model_runs_on_the_gpu_of_its_worker_unless_its_device_is_cpu(
    monkeypatch: pytest.MonkeyPatch, visible: str, device: str, chosen: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert _options(ModelDefinition("model", "whisper", str(MODEL), device=device), 1)["device"] == chosen


def refusal(path: str) -> str:
    with pytest.raises(LoadError) as caught:
        _options(ModelDefinition("model", "whisper", path), 1)
    assert caught.value.code == "load_failed"
    return str(caught.value)


@pytest.mark.parametrize("missing", ["model.bin", "config.json", "tokenizer.json"])
def test_a_folder_without_a_file_is_refused_with_the_command_that_makes_it(copy: Path, missing: str) -> None:
    """Without the tokenizer the library would ask the hub for one."""
    (copy / missing).unlink()
    assert refusal(str(copy)) == (
        f"{copy} has no {missing}: convert the model again with"
        " ct2-transformers-converter --copy_files tokenizer.json preprocessor_config.json"
    )


def test_a_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    assert refusal(str(tmp_path / "none")) == f"there is no folder {tmp_path / 'none'}: correct model_path"


@pytest.mark.parametrize("name", ["tiny", "large-v3", "turbo", "distil-large-v3"])
def test_a_short_name_is_refused_with_the_id_to_use_instead(name: str) -> None:
    assert refusal(name) == f"set model_path to {NAMES[name]}, which is downloaded"


def test_an_engine_never_asks_the_hub(tmp_path: Path) -> None:
    assert _environment(tmp_path / "bin" / "python") == {"HF_HUB_OFFLINE": "1"}


def test_a_replica_takes_one_and_a_half_times_its_files() -> None:
    rule, shape = BACKENDS["whisper"].memory, model_shape(whisper())
    assert rule is not None
    assert shape is not None
    need = rule.need(shape, {}, 4, Device(is_gpu=True))
    assert need.weights == (MODEL / "model.bin").stat().st_size
    assert need.weights + need.buffers == ceil(1.5 * need.weights)


# requests


def test_a_request_has_the_path_of_its_upload(tmp_path: Path) -> None:
    jobs = JobFolders(tmp_path)
    generation = jobs.request(CLIPS / "en-digits.mp3", "translate", language="de", words=True, prompt="Hi.")
    task = generation.media
    assert isinstance(task, AudioTask)
    encoded = orjson.loads(_encoder(tmp_path)(generation))
    assert encoded.pop("path") == str(tmp_path / task.folder / "upload")
    assert encoded["kind"] == "translate"
    assert (encoded["language"], encoded["prompt"], encoded["words"]) == ("de", "Hi.", True)
    assert (encoded["temperature"], encoded["skips_silence"]) == (None, True)


def encoding_error(files: Path | None, generation: Generation) -> GenerationError:
    with pytest.raises(GenerationError) as caught:
        _encoder(files)(generation)
    return caught.value


@pytest.mark.parametrize(
    "generation", [ask("Hello."), Generation("model", (), media=SpeechTask("Hello.", "amy", "wav"))]
)
def test_a_request_for_anything_else_is_refused(tmp_path: Path, generation: Generation) -> None:
    assert encoding_error(tmp_path, generation).code == "generation_unsupported"


def test_an_upload_that_the_worker_does_not_see_is_reported_with_its_folder(tmp_path: Path) -> None:
    generation = JobFolders(tmp_path / "api").request(b"RIFF")
    error = encoding_error(tmp_path / "worker", generation)
    assert error.code == "engine_error"
    assert f"let it share the folder {tmp_path / 'worker'}" in str(error)
    assert encoding_error(None, generation).code == "engine_error"


def test_a_name_that_leaves_the_folder_of_the_job_is_refused(tmp_path: Path) -> None:
    task = AudioTask("transcribe", "../upload", 4, folder=f"{'0' * 64}/jobs/resp_{'0' * 32}")
    assert encoding_error(tmp_path, Generation("model", (), media=task)).code == "engine_error"
