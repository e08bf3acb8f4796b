"""vLLM as a library: an engine process (`backends/vllm/engine/`) runs its `AsyncLLM`.

The process uses the Python of vLLM's environment.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from backends.base import Launch
from backends.shared.pipe_engine import EngineCommand, PipeEngine, chat_encoder, start_pipe_engine
from backends.shared.start import engine_python, starting
from backends.shared.vectors import encode_inputs
from backends.vllm.arguments import VllmOptions
from backends.vllm.audio_libraries import check_audio_libraries
from backends.vllm.diagnosis import diagnosing
from backends.vllm.facts import kv_cache_mib
from backends.vllm.progress import reporting_progress
from backends.vllm.request_body import vllm_body
from config.settings import ModelDefinition
from generation.generation import Generation


class VllmAdapter:
    """Fulfils `Adapter`."""

    name = "vllm"

    def check(self, model: ModelDefinition, slots: int, environments: Path) -> None:
        """Check the options, the files and the environment. Raises `LoadError`."""
        self._prepared(model, slots, environments)

    def _prepared(self, model: ModelDefinition, slots: int, environments: Path) -> tuple[VllmOptions, Path]:
        options = VllmOptions.of(model, slots)
        python = engine_python(environments, self.name, options.python)
        if options.takes_audio:
            check_audio_libraries(python, "-I")
        return options, python

    def start(self, launch: Launch) -> PipeEngine:
        """Start an engine process with vLLM."""
        with starting(launch) as start:
            options, python = self._prepared(launch.model, launch.slots, launch.environments)
            form = partial(_library_body, tool_parser=options.tool_parser)
            encode = chat_encoder(form, launch.model.prompt_format)
            if "runner" in options.engine:
                encode = encode_inputs
            command = EngineCommand(
                [str(python)], self.name, options.for_engine(), options.environment, encode
            )
            with diagnosing(launch.directory), reporting_progress(start):
                engine = start_pipe_engine(start, command)
            engine.facts = replace(engine.facts, kv_cache_mib=kv_cache_mib(options.engine, launch.directory))
            return engine


def _library_body(generation: Generation, prompt_format: str, tool_parser: str | None) -> dict[str, Any]:
    """Return `vllm_body` with the name of the LoRA adapter in `lora`, if there is one."""
    body = vllm_body(generation, prompt_format, tool_parser)
    return body if generation.lora is None else {**body, "lora": generation.lora}


ADAPTER = VllmAdapter()
