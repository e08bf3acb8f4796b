"""Whisper: models that transcribe speech, in the engine process of `backends/whisper/engine/`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from backends.base import GenerationError, Launch, LoadError
from backends.catalogue import BACKENDS
from backends.shared.media_files import upload_path
from backends.shared.pipe_engine import EngineCommand, PipeEngine, RequestEncoder, start_pipe_engine
from backends.shared.start import model_python, nvidia_libraries, starting
from config.settings import ROOT, ModelDefinition
from engines.nvml import runs_on_cpu
from generation.generation import Generation
from generation.media import AudioTask

BACKEND = BACKENDS["whisper"]
FILES = ("model.bin", "config.json", "tokenizer.json")
"""The files that a model needs. Without its tokenizer the library would ask the hub for one."""

NAMES = {
    **{name: f"Systran/faster-whisper-{name}" for name in ("tiny", "base", "small", "medium")},
    **{f"{name}.en": f"Systran/faster-whisper-{name}.en" for name in ("tiny", "base", "small", "medium")},
    **{f"large-{version}": f"Systran/faster-whisper-large-{version}" for version in ("v1", "v2", "v3")},
    "large": "Systran/faster-whisper-large-v3",
    "turbo": "mobiuslabsgmbh/faster-whisper-large-v3-turbo",
    "large-v3-turbo": "mobiuslabsgmbh/faster-whisper-large-v3-turbo",
    "distil-large-v3": "Systran/faster-distil-whisper-large-v3",
    "distil-large-v3.5": "distil-whisper/distil-large-v3.5-ct2",
}
"""The ids of the models that faster-whisper has short names for."""


class WhisperAdapter:
    """Fulfils `Adapter`."""

    name = "whisper"

    def check(self, model: ModelDefinition, slots: int, environments: Path) -> None:
        """Check the options, the folder and the environment. Raises `LoadError`."""
        self._prepared(model, slots, environments)

    def _prepared(
        self, model: ModelDefinition, slots: int, environments: Path
    ) -> tuple[dict[str, Any], Path]:
        return _options(model, slots), model_python(model, environments)

    def start(self, launch: Launch) -> PipeEngine:
        """Start an engine process with faster-whisper."""
        with starting(launch) as start:
            options, python = self._prepared(launch.model, launch.slots, launch.environments)
            encode = _encoder(launch.files)
            command = EngineCommand([str(python)], "whisper", options, _environment(python), encode)
            return start_pipe_engine(start, command)


def _options(model: ModelDefinition, slots: int) -> dict[str, Any]:
    """The options of the engine process. Raises `LoadError`."""
    return {
        **{name: value for name, value in BACKEND.values(model.options).items() if name != "python"},
        "model": str(_folder(model)),
        "slots": slots,
        "device": "cpu" if runs_on_cpu(model.device) else "cuda",
    }


def _folder(model: ModelDefinition) -> Path:
    """The folder of the model. Raises `LoadError`."""
    if model.model_path is None:
        raise LoadError("load_failed", "set model_path to the folder of a Whisper model for CTranslate2")
    if model.model_path in NAMES and not (ROOT / model.model_path).is_dir():
        raise LoadError("load_failed", f"set model_path to {NAMES[model.model_path]}, which is downloaded")
    folder = ROOT / model.model_path
    if not folder.is_dir():
        raise LoadError("load_failed", f"there is no folder {folder}: correct model_path")
    for name in FILES:
        if not (folder / name).is_file():
            raise LoadError(
                "load_failed",
                f"{folder} has no {name}: convert the model again with"
                " ct2-transformers-converter --copy_files tokenizer.json preprocessor_config.json",
            )
    return folder


def _environment(python: Path) -> dict[str, str]:
    """The path of NVIDIA's libraries, and what keeps the libraries from asking the hub."""
    return {"HF_HUB_OFFLINE": "1", **nvidia_libraries(python)}


def _encoder(files: Path | None) -> RequestEncoder:
    """Return the encoder of requests, whose uploads lie below `files`."""

    def encode(generation: Generation) -> bytes:
        task = generation.media
        if not isinstance(task, AudioTask):  # the API refuses it, but may have another configuration
            raise GenerationError(
                "generation_unsupported", "the model transcribes recordings and does nothing else"
            )
        path = upload_path(files, task, task.file)
        return orjson.dumps({**asdict(task), "path": str(path)})

    return encode


ADAPTER = WhisperAdapter()
