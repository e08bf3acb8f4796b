"""CTranslate2: converted generators and translators, in the engine process of `backends/ct2/engine/`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from backends.base import GenerationError, Launch, LoadError
from backends.catalogue import BACKENDS
from backends.shared.chat_request import sampled_body
from backends.shared.pipe_engine import (
    EngineCommand,
    PipeEngine,
    chat_encoder,
    messages_only,
    start_pipe_engine,
)
from backends.shared.start import model_python, nvidia_libraries, starting
from config.settings import ROOT, ModelDefinition
from engines.nvml import runs_on_cpu
from generation.generation import UNKNOWN_SOURCES, Generation

BACKEND = BACKENDS["ct2"]


class Ct2Adapter:
    """Fulfils `Adapter`."""

    name = "ct2"

    def check(self, model: ModelDefinition, slots: int, environments: Path) -> None:
        """Check the options, the folder and the environment. Raises `LoadError`."""
        self._prepared(model, slots, environments)

    def _prepared(
        self, model: ModelDefinition, slots: int, environments: Path
    ) -> tuple[dict[str, Any], Path]:
        return _options(model, slots), model_python(model, environments)

    def start(self, launch: Launch) -> PipeEngine:
        """Start an engine process with CTranslate2."""
        with starting(launch) as start:
            options, python = self._prepared(launch.model, launch.slots, launch.environments)
            translates = options["task"] == "translate"
            encode = (
                _text if translates else chat_encoder(messages_only(sampled_body), launch.model.prompt_format)
            )
            return start_pipe_engine(
                start, EngineCommand([str(python)], "ct2", options, nvidia_libraries(python), encode)
            )


def _options(model: ModelDefinition, slots: int) -> dict[str, Any]:
    """The options of the engine process. Raises `LoadError`."""
    if model.model_path is None:
        raise LoadError("load_failed", "set model_path to the folder of a converted model")
    folder = ROOT / model.model_path
    if not folder.is_dir():
        raise LoadError("load_failed", f"there is no folder {folder}: correct model_path")
    return {
        **{name: value for name, value in BACKEND.values(model.options).items() if name != "python"},
        "model": str(folder),
        "slots": slots,
        "device": "cpu" if runs_on_cpu(model.device) else "cuda",
        "prompt_format": model.prompt_format,
    }


def _text(generation: Generation) -> bytes:
    """The request to a translator: one text, its language and the target language. Raises
    `GenerationError`."""
    messages, sampling = generation.messages, generation.sampling
    is_text = len(messages) == 1 and messages[0].role == "user" and not generation.tools
    if not is_text or messages[0].images or messages[0].recordings:
        raise GenerationError(
            "invalid_prompt", "a translation model accepts one user message of text, and nothing else"
        )
    if generation.count_only:  # the API refuses it, but may have another configuration
        raise GenerationError(
            "token_count_unsupported", "a translation model cannot count tokens without translating"
        )
    source = generation.source_lang_code
    request: dict[str, Any] = {
        "text": messages[0].text,
        "source": None if source in UNKNOWN_SOURCES else source,
        "target": generation.target_lang_code,
        "stop": sampling.stop,
    }
    if sampling.max_tokens is not None:
        request["max_tokens"] = sampling.max_tokens
    return orjson.dumps(request)


ADAPTER = Ct2Adapter()
