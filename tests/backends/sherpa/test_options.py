"""The options of sherpa's engine process, the files of a voice, and the requests that are sent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from backends.base import GenerationError, LoadError
from backends.sherpa.adapter import _options, _request
from config.settings import ROOT, ModelDefinition
from generation.generation import Generation
from generation.media import SpeechTask
from tests.backends.conftest import ask

FOLDER = f"{'0' * 64}/jobs/resp_{'1' * 32}"
TASK = SpeechTask("Hello.", "0", "mp3", folder=FOLDER)


def sherpa(folder: Path, device: str = "auto", **options: object) -> ModelDefinition:
    named = {f"sherpa_{name}": value for name, value in options.items()}
    return ModelDefinition("model", "sherpa", model_path=str(folder), device=device, options=named)


def speech(task: SpeechTask) -> Generation:
    return Generation("model", (), media=task)


def test_the_engine_gets_all_options_of_the_model() -> None:
    folder = ROOT / "models/stoker-voice"
    model = sherpa(folder, voices={"alloy": "2"}, threads=3, max_characters=9, max_seconds=8)
    assert _options(model, 5) == {
        "voices": {"alloy": 2},
        "threads": 3,
        "max_characters": 9,
        "max_seconds": 8,
        "slots": 5,
        "family": "vits",
        "model": str(folder / "voice.onnx"),
        "tokens": str(folder / "tokens.txt"),
        "voices_file": "",
        "lexicon": "",
        "data_dir": "",
        "rule_fsts": "",
    }


def test_the_files_of_a_voice_of_kokoro_are_found(tmp_path: Path) -> None:
    for name in ("model.onnx", "model.int8.onnx", "tokens.txt", "voices.bin", "lexicon-a.txt", "date.fst"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "espeak-ng-data").mkdir()
    found = _options(sherpa(tmp_path), 1)
    assert (found["family"], found["model"]) == ("kokoro", str(tmp_path / "model.onnx"))
    assert found["voices_file"] == str(tmp_path / "voices.bin")
    assert found["lexicon"] == str(tmp_path / "lexicon-a.txt")
    assert (found["data_dir"], found["rule_fsts"]) == (
        str(tmp_path / "espeak-ng-data"),
        str(tmp_path / "date.fst"),
    )


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ((), "has no .onnx file: set model_path to the folder of a voice"),
        (("a.onnx",), "has no tokens.txt"),
        (("a.onnx", "b.onnx", "tokens.txt"), "has several .onnx files: set model_path to one of them"),
    ],
)
def test_a_folder_without_a_voice_is_refused(tmp_path: Path, files: tuple[str, ...], sentence: str) -> None:
    for name in files:
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(LoadError, match=sentence) as caught:
        _options(sherpa(tmp_path), 1)
    assert caught.value.code == "load_failed"


def test_a_missing_folder_a_gpu_and_another_family_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="there is no folder"):
        _options(sherpa(tmp_path / "none"), 1)
    with pytest.raises(LoadError, match="set device to cpu"):
        _options(sherpa(ROOT / "models/stoker-voice", "cuda:0"), 1)
    with pytest.raises(LoadError, match=r"has no voices\.bin"):
        _options(sherpa(ROOT / "models/stoker-voice", family="kokoro"), 1)


def test_the_engine_gets_the_path_of_the_recording(tmp_path: Path) -> None:
    assert orjson.loads(_request(tmp_path, 10, speech(TASK))) == {
        "text": "Hello.",
        "voice": "0",
        "format": "mp3",
        "speed": 1.0,
        "path": str(tmp_path / FOLDER / "speech.mp3"),
    }


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"text": "a" * 11}, "invalid_prompt"),
        ({"format": "../x"}, "unsupported_parameter"),
        ({"speed": 0.2}, "unsupported_parameter"),
        ({"speed": 4.1}, "unsupported_parameter"),
        ({"speed": float("nan")}, "unsupported_parameter"),
        ({"folder": "../../etc"}, "engine_error"),
        ({"folder": ""}, "engine_error"),
    ],
)
def test_a_request_beyond_a_limit_is_refused(tmp_path: Path, changed: dict[str, object], code: str) -> None:
    with pytest.raises(GenerationError) as caught:
        _request(tmp_path, 10, speech(replace(TASK, **changed)))
    assert caught.value.code == code


def test_a_chat_and_a_worker_without_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GenerationError) as caught:
        _request(tmp_path, 10, ask("Hello."))
    assert caught.value.code == "generation_unsupported"
    with pytest.raises(GenerationError, match="no folder"):
        _request(None, 10, speech(TASK))


def test_lone_surrogates_become_question_marks(tmp_path: Path) -> None:
    sent = orjson.loads(_request(tmp_path, 10, speech(replace(TASK, text="a\ud800", voice="\udfff" * 900))))
    assert sent["text"] == "a?"
    assert len(sent["voice"]) == 65
