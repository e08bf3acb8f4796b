"""Runs the llama-server of xllamacpp in this process, on a random port unless one is configured.

Arguments: the descriptor to report to, and the options of `LlamaServerOptions.for_engine` as JSON. The API
key is in LLAMA_API_KEY. Reports one JSON line: {"port": n, "version": text} or {"failed": text}.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ...shared.engine.facts import version_of

ERRORS = 1  # log level while requests run; with 2, warnings, refused ones are quoted in the log
INFORMATION = 3  # log level of the load, about 15 lines
SWITCH = {"auto": -1, "off": 0, "on": 1}


def main(arguments: list[str]) -> None:
    """Load the model, report the port, and serve until killed."""
    report, options = int(arguments[0]), json.loads(arguments[1])
    try:
        xllamacpp: Any = import_module("xllamacpp")
    except ImportError as error:
        sentence = "run `stoker runtimes install llama_server`, or set llama_server_binary to a llama-server"
        _report(report, {"failed": f"xllamacpp cannot be imported ({error}): {sentence}"})
        sys.exit(1)
    set_log_level = _log_level_setter(xllamacpp)
    params = _params(xllamacpp, options)
    params.verbosity = ERRORS if set_log_level is None else INFORMATION
    try:
        server = xllamacpp.Server(params)
    except Exception as error:  # every error must be reported to the worker
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        _report(report, {"failed": "the engine cannot load the model"})
        sys.exit(1)
    if set_log_level is not None:
        set_log_level(ERRORS)  # before the first request
    port = int(server.listening_address.rpartition(":")[2])
    _report(report, {"port": port, "version": version_of("xllamacpp")})
    while True:
        signal.pause()


def _log_level_setter(xllamacpp: Any) -> Callable[[int], object] | None:
    """The function of llama.cpp that sets its log level (`common_log_set_verbosity_thold` in common/log.h).

    The wheel has no name for it, so it is looked up in its library. None if this build does not export it.
    """
    library = ctypes.CDLL(xllamacpp.xllamacpp.__file__)
    return getattr(library, "_Z30common_log_set_verbosity_tholdi", None)


def _params(xllamacpp: Any, options: dict[str, Any]) -> Any:
    params = xllamacpp.CommonParams()
    params.hostnames = [options["host"]]
    if options["port"] is not None:
        params.port = options["port"]
    params.api_keys = [os.environ["LLAMA_API_KEY"]]
    params.ui = False
    params.model.path = options["model"]
    params.n_parallel = options["slots"]
    params.n_ctx = options["total_context"]
    params.n_gpu_layers = options["n_gpu_layers"]
    params.cache_prompt = options["cache_prompt"]
    params.slot_save_path = options["slot_folder"]
    if options["chat_template"] is not None:
        params.chat_template = options["chat_template"]
    if options["chat_template_kwargs"]:
        params.default_template_kwargs = {
            name: json.dumps(value) for name, value in options["chat_template_kwargs"].items()
        }
    if options["ctx_checkpoints"] is not None:
        params.n_ctx_checkpoints = options["ctx_checkpoints"]
    params.cache_ram_mib = 0  # prompts outside their slots would be reused for any request
    params.flash_attn_type = xllamacpp.llama_flash_attn_type(SWITCH[options["flash_attn"]])
    params.enable_reasoning = SWITCH[options["reasoning"]]
    if options["threads"] is not None:
        params.cpuparams.n_threads = options["threads"]
        params.cpuparams_batch.n_threads = options["threads"]
    if options["mmproj"] is not None:
        params.mmproj.path = options["mmproj"]
    if options["image_max_tokens"] is not None:
        params.image_max_tokens = options["image_max_tokens"]
    if options["lora"]:  # of scale 0, so that no request without a name gets one
        params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(path, 0.0) for path in options["lora"]]
    if options["pooling"] is not None:
        params.embedding = params.kv_unified = True  # see `LlamaServerOptions.argv`
        params.n_batch = params.n_ubatch = options["batch"]
        if options["pooling"] != "auto":
            kind = f"LLAMA_POOLING_TYPE_{options['pooling'].upper()}"
            params.pooling_type = getattr(xllamacpp.llama_pooling_type, kind)
    _speculation(xllamacpp, params.speculative, options)
    return params


def _speculation(xllamacpp: Any, speculative: Any, options: dict[str, Any]) -> None:
    if options["spec_type"] is not None:
        names = [name.upper().replace("-", "_") for name in options["spec_type"].split(",")]
        kinds = xllamacpp.common_speculative_type
        speculative.types = [getattr(kinds, f"COMMON_SPECULATIVE_TYPE_{name}") for name in names]
    draft = speculative.draft
    if options["draft_model"] is not None:
        draft.mparams.path = options["draft_model"]
    if options["spec_draft_n_max"] is not None:
        draft.n_max = options["spec_draft_n_max"]
    if options["spec_draft_p_min"] is not None:
        draft.p_min = options["spec_draft_p_min"]


def _report(fd: int, message: dict[str, Any]) -> None:
    os.write(fd, json.dumps(message).encode() + b"\n")
    os.close(fd)
