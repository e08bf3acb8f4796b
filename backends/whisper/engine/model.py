"""Loads a model with faster-whisper, and tries it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from .batches import SharedModel
from .decode import RATE
from .errors import WhisperLoadError

np: Any = import_module("numpy")

FILES = ("model.bin", "config.json", "tokenizer.json")
LIBRARIES = ("ctranslate2", "tokenizers", "onnxruntime", "av", "faster_whisper")
MAX_WORKERS = 8
GPU_WAIT_MS = 5
Report = Callable[[float, str], None]


def load(options: dict[str, Any], report: Report) -> Any:
    """Load the `faster_whisper.WhisperModel`, whose model is a `SharedModel`. Raises `WhisperLoadError`."""
    folder = Path(options["model"])
    report(0.0, "starting")
    for name in LIBRARIES:
        _library(name)
    for name in FILES:  # without the tokenizer the library would ask the hub for one
        if not (folder / name).is_file():
            raise WhisperLoadError(
                f"{folder} has no {name}: convert the model again with"
                " ct2-transformers-converter --copy_files tokenizer.json preprocessor_config.json"
            )
    report(0.1, "loading the model")
    try:
        model = _library("faster_whisper").WhisperModel(
            str(folder),
            device=options["device"],
            compute_type=options["compute_type"],
            cpu_threads=options["threads"] or 0,
            num_workers=min(
                MAX_WORKERS, options["slots"] + 1
            ),  # one may still compute for a cancelled request
            local_files_only=True,
        )
    except Exception as error:  # the libraries raise bare exceptions
        raise _failure(error, options) from error
    found, needed = model.feature_extractor.mel_filters.shape[0], model.model.n_mels
    if found != needed:
        raise WhisperLoadError(
            f"the model takes {needed} features of a recording, not {found}: copy the"
            f" preprocessor_config.json of the original model into {folder}"
        )
    report(0.9, "trying it")
    try:
        _warm_up(model)
    except Exception as error:
        raise _failure(error, options) from error
    model.model = SharedModel(model.model, wait_s(options))
    return model


def wait_s(options: dict[str, Any]) -> float | None:
    """How long a window waits for others; None: it is computed alone."""
    wait_ms = options["batch_wait_ms"]
    if wait_ms is None:
        return GPU_WAIT_MS / 1000 if options["device"] == "cuda" else None
    return wait_ms / 1000 if options["slots"] > 1 else None


def known_languages(model: Any) -> tuple[str, ...]:
    """The ISO 639-1 codes of the languages that the model has tokens for."""
    find = model.hf_tokenizer.token_to_id
    if not model.model.is_multilingual:
        return ("en",)
    return tuple(code for code in model.supported_languages if find(f"<|{code}|>") is not None)


def _warm_up(model: Any) -> None:
    """Process a moment of silence, so that a missing or broken library raises its error now."""
    language = known_languages(model)[0]
    segments, _ = model.transcribe(
        np.zeros(RATE, np.float32), language=language, temperature=0.0, beam_size=1
    )
    list(segments)
    import_module("faster_whisper.vad").get_speech_timestamps(np.zeros(RATE, np.float32))


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        sentence = "run `stoker runtimes install whisper`, or pip install it where whisper_python points to"
        raise WhisperLoadError(f"{name} cannot be imported: {sentence}") from error


def _failure(error: Exception, options: dict[str, Any]) -> WhisperLoadError:
    """The sentence for an error of the libraries; the error itself goes to the log."""
    message = str(error)
    print(message, file=sys.stderr, flush=True)
    if "ompute type" in message:
        known = ", ".join(sorted(_library("ctranslate2").get_supported_compute_types(options["device"])))
        wanted = options["compute_type"]
        return WhisperLoadError(f"whisper_compute_type {wanted} is not available here, only default, {known}")
    if "out of memory" in message:
        return WhisperLoadError("the model does not fit into the device's memory")
    if any(word in message for word in ("CUDA", "libcublas", "libcudnn")):
        return WhisperLoadError(
            "the GPU cannot be used: a driver for CUDA 12, libcublas.so.12 and libcudnn 9 are needed:"
            " run `stoker runtimes install whisper --variant cuda`"
        )
    return WhisperLoadError(
        f"{options['model']} has no Whisper model that CTranslate2 can read: convert the model again with"
        " ct2-transformers-converter"
    )
