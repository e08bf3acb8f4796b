"""Builds the engine: the loaded model, its vocabulary and template, the prefix cache and the loop."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

from ...shared.engine.facts import capacity_facts, version_of
from ...shared.engine.pipe import Pipe
from ...shared.engine.syntax import syntax_of
from ...shared.engine.template_process import TemplateError, TemplateProcess
from .batch import Batch
from .loop import LlamaCppLoop
from .loras import Loras
from .model import LibraryLog, LlamaLoadError, LoadedModel, load, metadata, warm_up
from .prefix_cache import PrefixCache
from .request import LlamaRequestBuilder
from .sampling import DEFAULTS
from .sequence import SequenceMemory
from .state_commands import StateCommands
from .step_runner import StepBudget, StepRunner
from .tokenizer_pool import TokenizerPool
from .vocabulary import Vocabulary

SAMPLING_NAMES = {"temp": "temperature"}
UNSET: dict[str, Any] = {
    "seed": 2**32 - 1,  # llama-server's name of a random one
    "repeat_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "max_tokens": -1,
    "n_predict": -1,
    "n_probs": 0,
    "ignore_eos": False,
    "stream": False,
}
"""What holds for a request that asks for nothing else, by llama-server's names."""


def run(pipe: Pipe, options: dict[str, Any]) -> None:
    """Load the model and answer requests until the worker closes the pipe."""
    try:
        loop, loaded, requests = assemble(pipe, options)
    except LlamaLoadError as error:
        pipe.failed(str(error))
        sys.exit(1)
    vocabulary = requests.vocabulary
    properties = {
        "params": {SAMPLING_NAMES.get(name, name): value for name, value in requests.sampling.items()}
        | UNSET,
        "chat_template": requests.template.source,
        **vocabulary.special,
    }
    pipe.ready(
        loaded.slots,
        loaded.context_size,
        version=version_of("llama-cpp-python"),
        quantization=loaded.log.quantization,
        kv_cache_mib=loaded.log.kv_cache_mib,
        longest_token=vocabulary.longest if vocabulary.is_byte_exact else None,
        **capacity_facts(loaded.slots if options["cache_prompt"] else None, "sequences"),
        properties=properties,
    )
    loop.run()
    os._exit(0)  # freeing the model piece by piece would only take time


def assemble(pipe: Pipe, options: dict[str, Any]) -> tuple[LlamaCppLoop, LoadedModel, LlamaRequestBuilder]:
    """Load the model and build its loop, reporting progress. Raises `LlamaLoadError`."""
    library, numpy = import_module("llama_cpp"), import_module("numpy")
    log = LibraryLog(library)
    loaded = load(library, options, log, lambda done: pipe.load(0.9 * done, "loading the model"))
    pipe.load(0.92, "trying the model")
    requests = _requests(library, numpy, loaded, options)
    capacity = min(max(options["batch"], loaded.slots), library.llama_n_batch(loaded.context))
    loras = Loras(library, loaded)
    for name in (*loaded.loras, None):
        loras.use(name)
        warm_up(library, loaded, requests.vocabulary.first, 1)
        if loaded.on_gpu:
            warm_up(library, loaded, requests.vocabulary.first, min(capacity, loaded.context_size))
    single_s = warm_up(library, loaded, requests.vocabulary.first, 1)
    loaded.log.only_warnings()
    memory = SequenceMemory(library, loaded.model, loaded.context)
    prefix_cache = PrefixCache(
        memory,
        loaded.slots,
        loaded.context_size,
        reuse=options["cache_prompt"],
        checkpoints=options["ctx_checkpoints"],
    )
    batch = Batch(library, loaded.context, numpy, capacity, requests.vocabulary.size)
    step_runner = StepRunner(batch, StepBudget(capacity, single_s), prefix_cache, loras)
    state_commands = StateCommands(
        prefix_cache, memory, lambda: numpy.empty(loaded.context_size, numpy.int32)
    )
    loop = LlamaCppLoop(pipe, TokenizerPool(requests), prefix_cache, step_runner, state_commands)
    return loop, loaded, requests


def _requests(library: Any, numpy: Any, loaded: LoadedModel, options: dict[str, Any]) -> LlamaRequestBuilder:
    """The request builder, from the file's chat template and vocabulary. Raises `LlamaLoadError`."""
    source, for_tools = (_template(library, loaded.model, name) for name in (None, b"tool_use"))
    syntax = syntax_of(options["prompt_format"], source or "")
    vocabulary = Vocabulary(library, loaded.model, numpy, syntax.markers)
    try:
        arguments = options["chat_template_kwargs"]
        template = TemplateProcess(source, vocabulary.special, arguments)
        tool_template = template
        if for_tools is not None:
            tool_template = TemplateProcess(for_tools, vocabulary.special, arguments)
    except TemplateError as error:
        raise LlamaLoadError(
            f"the chat template in the model's file {error}: use another conversion of the model"
        ) from error
    return LlamaRequestBuilder(
        library,
        numpy,
        vocabulary,
        template,
        tool_template,
        syntax,
        loaded.context_size,
        {**DEFAULTS, **_recommended_sampling(library, loaded.model)},
        loaded.loras.keys(),
    )


def _template(library: Any, model: Any, name: bytes | None) -> str | None:
    source = library.llama_model_chat_template(model, name)
    return None if source is None else source.decode("utf-8", "replace")


def _recommended_sampling(library: Any, model: Any) -> dict[str, float]:
    """The sampling parameters that the file recommends (`general.sampling.*`)."""
    found = {name: metadata(library, model, f"general.sampling.{name}") for name in DEFAULTS}
    return {name: float(value) for name, value in found.items() if value is not None}
