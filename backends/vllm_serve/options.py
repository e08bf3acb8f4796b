"""The options of `vllm_serve`: those of `vllm`, and some for the managed server only."""

from __future__ import annotations

from dataclasses import replace

from backends.declaration import TOKEN_SAMPLING, Backend, Option, server_options
from backends.parameter_rules import ContextOption
from backends.vllm.options import ENVIRONMENT, MEMORY, OPTIONS, PARAMETERS, REQUIRED_OPTIONS, THINKING_FORMATS

BACKEND = Backend(
    "vllm_serve",
    "vllm_",
    parameters=replace(
        PARAMETERS,
        rank=1,
        context=ContextOption("vllm_max_model_len", bounded=True, stretched_by="vllm_serve_extra_args"),
    ),
    environment=ENVIRONMENT,
    memory=MEMORY,
    takes_prompts=True,
    counts_tokens=True,
    constrains_output=True,
    sampling=TOKEN_SAMPLING | {"thinking_budget"},
    max_logprobs=20,
    takes_hub_ids=True,
    one_replica_with=("vllm_serve_port",),
    needs=REQUIRED_OPTIONS,
    image_option="vllm_image_input",
    audio_option="vllm_audio_input",
    lora_option="vllm_lora",
    thinking_formats=THINKING_FORMATS,
    caches_prefixes=True,
    prefix_cache_option="vllm_enable_prefix_caching",
    options=(
        *OPTIONS,
        Option(
            "vllm_serve_binary",
            "string",
            None,
            "the vllm program; null is that of vllm_python",
            nullable=True,
            format="program",
        ),
        *server_options("vllm_serve_"),
        Option("vllm_serve_extra_args", "list", (), "further arguments of vllm serve", privileged=True),
    ),
)
