"""sherpa-onnx: voices that speak texts, in the engine process of `backends/sherpa/engine/`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import orjson

from backends.base import GenerationError, Launch, LoadError
from backends.catalogue import BACKENDS
from backends.shared.media_files import result_path
from backends.shared.pipe_engine import EngineCommand, PipeEngine, start_pipe_engine
from backends.shared.start import model_python, starting
from config.settings import ROOT, ModelDefinition
from generation.generation import Generation
from generation.media import SpeechTask

BACKEND = BACKENDS["sherpa"]
FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")
SLOWEST, FASTEST = 0.25, 4.0
MAX_VOICE = 64
WHERE = "the folder of a voice from https://github.com/k2-fsa/sherpa-onnx/releases/tag/tts-models"


class SherpaAdapter:
    """Fulfils `Adapter`."""

    name = "sherpa"

    def check(self, model: ModelDefinition, slots: int, environments: Path) -> None:
        """Check the options, the folder and the environment. Raises `LoadError`."""
        self._prepared(model, slots, environments)

    def _prepared(
        self, model: ModelDefinition, slots: int, environments: Path
    ) -> tuple[dict[str, Any], Path]:
        return _options(model, slots), model_python(model, environments)

    def start(self, launch: Launch) -> PipeEngine:
        """Start an engine process with a voice."""
        with starting(launch) as start:
            options, python = self._prepared(launch.model, launch.slots, launch.environments)
            encode = partial(_request, launch.files, options["max_characters"])
            return start_pipe_engine(start, EngineCommand([str(python)], "sherpa", options, encode=encode))


def _options(model: ModelDefinition, slots: int) -> dict[str, Any]:
    """The options of the engine process. Raises `LoadError`."""
    if model.model_path is None:
        raise LoadError("load_failed", f"set model_path to {WHERE}")
    if model.device not in ("cpu", "auto"):
        raise LoadError("load_failed", "voices run on the CPU: set device to cpu")
    values = BACKEND.values(model.options)
    family = values.pop("family")
    del values["python"]
    return {
        **values,
        "voices": {name: int(number) for name, number in (values["voices"] or {}).items()},
        "slots": slots,
        **_files(ROOT / model.model_path, family),
    }


def _files(path: Path, family: str) -> dict[str, Any]:
    """The files of a voice, by sherpa-onnx's names of them. Raises `LoadError`."""
    folder = path.parent if path.is_file() else path
    model = path if path.is_file() else _model(folder)
    if not (folder / "tokens.txt").is_file():
        raise LoadError("load_failed", f"{folder} has no tokens.txt: set model_path to {WHERE}")
    voices = folder / "voices.bin"
    kokoro = family == "kokoro" or (family == "auto" and voices.is_file())
    if kokoro and not voices.is_file():
        raise LoadError("load_failed", f"{folder} has no voices.bin: it is no voice of Kokoro")
    data = folder / "espeak-ng-data"
    return {
        "family": "kokoro" if kokoro else "vits",
        "model": str(model),
        "tokens": str(folder / "tokens.txt"),
        "voices_file": str(voices) if kokoro else "",
        "lexicon": ",".join(map(str, sorted(folder.glob("lexicon*.txt")))),
        "data_dir": str(data) if data.is_dir() else "",
        "rule_fsts": ",".join(map(str, sorted(folder.glob("*.fst")))),
    }


def _model(folder: Path) -> Path:
    """The model in a folder: its only `.onnx` file, or `model.onnx` of several. Raises `LoadError`."""
    if not folder.is_dir():
        raise LoadError("load_failed", f"there is no folder {folder}: correct model_path")
    found = sorted(folder.glob("*.onnx"))
    if len(found) > 1:
        found = [path for path in found if path.name == "model.onnx"]
        if not found:
            raise LoadError("load_failed", f"{folder} has several .onnx files: set model_path to one of them")
    if not found:
        raise LoadError("load_failed", f"{folder} has no .onnx file: set model_path to {WHERE}")
    return found[0]


def _request(files: Path | None, max_characters: int, generation: Generation) -> bytes:
    """The request to the engine process: text, voice, format, speed, and the path of the audio.

    Raises `GenerationError`.
    """
    task = generation.media
    if not isinstance(task, SpeechTask):
        raise GenerationError(
            "generation_unsupported", "the loaded model speaks texts, and does nothing else"
        )
    if len(task.text) > max_characters:
        message = f"the text has {len(task.text)} characters; at most {max_characters} are spoken"
        raise GenerationError("invalid_prompt", message)
    if task.format not in FORMATS:
        raise GenerationError("unsupported_parameter", f"the format must be one of {', '.join(FORMATS)}")
    if not SLOWEST <= task.speed <= FASTEST:
        raise GenerationError("unsupported_parameter", f"the speed must be {SLOWEST} to {FASTEST:g}")
    path = result_path(files, task, f"speech.{task.format}")
    request = {
        "text": task.text.encode("utf-8", "replace").decode(),  # lone surrogates are no JSON
        "voice": task.voice.encode("utf-8", "replace").decode()[: MAX_VOICE + 1],
        "format": task.format,
        "speed": task.speed,
        "path": str(path),
    }
    return orjson.dumps(request)


ADAPTER = SherpaAdapter()
