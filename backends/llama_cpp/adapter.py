"""The adapter of `llama_cpp`: starts an engine process that runs llama.cpp's library (llama-cpp-python)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from backends.base import Launch
from backends.llama_cpp.arguments import PREFIX, LlamaCppOptions
from backends.shared.chat_request import llama_body, sampled_body
from backends.shared.diagnosis import diagnosing
from backends.shared.llama_diagnosis import QUOTE, llama_diagnoses
from backends.shared.pipe_engine import (
    EngineCommand,
    PipeEngine,
    chat_encoder,
    start_pipe_engine,
    with_namespace,
)
from backends.shared.start import engine_python, starting
from backends.shared.vectors import encode_inputs
from config.settings import ModelDefinition
from generation.generation import Generation

DIAGNOSES = llama_diagnoses(
    PREFIX,
    "update it with `stoker runtimes install llama_cpp`, or use llama_server with a newer llama-server",
)


class LlamaCppAdapter:
    """Fulfils `Adapter`."""

    name = "llama_cpp"

    def check(self, model: ModelDefinition, slots: int, environments: Path) -> None:
        """Check the options, the files and the environment. Raises `LoadError`."""
        self._prepared(model, slots, environments)

    def _prepared(
        self, model: ModelDefinition, slots: int, environments: Path
    ) -> tuple[LlamaCppOptions, Path]:
        options = LlamaCppOptions.of(model, slots)
        return options, engine_python(environments, self.name, options.python)

    def start(self, launch: Launch) -> PipeEngine:
        """Start an engine process with llama-cpp-python."""
        with starting(launch) as start:
            options, python = self._prepared(launch.model, launch.slots, launch.environments)
            encode = chat_encoder(with_namespace(_body), launch.model.prompt_format)
            if options.pooling is not None:
                encode = encode_inputs
            command = EngineCommand(
                [str(python)], "llama_cpp", options.for_engine(), encode=encode, quotes_log=False
            )
            with diagnosing(launch.directory, DIAGNOSES, QUOTE):
                engine = start_pipe_engine(start, command)
            if options.pooling is None and options.cache_prompt:
                engine.state_folder = launch.states
                engine.state_identity = {
                    "engine": f"llama_cpp {engine.facts.version}",
                    "context": str(engine.context),
                    "KV types": f"{options.type_k}, {options.type_v}",
                    "flash attention": options.flash_attn,
                }
            return engine


def _body(generation: Generation, prompt_format: str) -> dict[str, Any]:
    """Return `llama_body` with the sampling (`sampled_body`), and what only this engine knows."""
    body = sampled_body(generation, prompt_format, llama_body)
    if generation.suffix is not None:
        body["suffix"] = generation.suffix
    if generation.answer_grammar is not None:
        body["grammar"] = generation.answer_grammar
    if generation.infill is not None:
        body["infill"] = generation.infill
    if generation.lora is not None:
        body["lora"] = generation.lora
    if generation.sampling.llama is not None:
        body["llama"] = generation.sampling.llama
    if generation.sampling.token_ids:
        body["token_ids"] = True
    for flag in ("reports_progress", "ends_reasoning"):
        if getattr(generation, flag):
            body[flag] = True
    return body


ADAPTER = LlamaCppAdapter()
