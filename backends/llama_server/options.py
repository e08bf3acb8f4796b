"""llama.cpp's server as a managed process (`llama_server`)."""

from __future__ import annotations

from backends.contradictions import Contradiction, is_not_set, is_one_of, is_set
from backends.declaration import (
    LLAMA_FIELDS,
    TOKEN_SAMPLING,
    Backend,
    LoadField,
    Option,
    OwnPrediction,
    lora_option,
    pooling_option,
    server_options,
)
from backends.environment import Environment, Variant
from backends.load_parameters import LoadParameters
from backends.memory_rules import MAX_SEQUENCES, SLOTS_PER_SPARE, LlamaMemory
from backends.parameter_rules import ContextOption, FixedQuantization, LayersOnGpu
from backends.prompt_formats import GEMMA4, QWEN3

RANK = "rank"
"""The pooling of a model that scores documents."""

DRAFTED_TOKENS, DRAFT_PROBABILITY = 2, 0.0
"""The Runtime Admin API's defaults of speculative decoding."""

ENVIRONMENT = Environment(
    "llama_server",
    ("llama_server",),
    module="xllamacpp",
    dists=("xllamacpp",),
    check="xllamacpp",
    variants=(Variant("cpu", "llama_server/locks/cpu.txt", "llama-server", space_mib=250),),
)

BACKEND = Backend(
    "llama_server",
    "llama_server_",
    parameters=LoadParameters(
        quantization=FixedQuantization(
            "the type in the file's header (`q4_k_m`, `q8_0`, `fp16`, `bf16`, ...); of "
            "several files in a folder the one of that type"
        ),
        context=ContextOption("llama_server_n_ctx", 256, capped=True),
        memory=LayersOnGpu("llama_server_n_gpu_layers", "llama_server_n_ctx"),
        forms=("gguf",),
        rank=0,
    ),
    environment=ENVIRONMENT,
    max_slots=MAX_SEQUENCES,
    memory=LlamaMemory(
        *("llama_server_n_ctx", "llama_server_n_gpu_layers", "llama_server_flash_attn"),
        "llama_server_pooling",
        spare="llama_server_spare_slots",
        reuse="llama_server_cache_prompt",
    ),
    takes_prompts=True,
    counts_tokens=True,
    text_tasks=True,
    constrains_output=True,
    sampling=TOKEN_SAMPLING | LLAMA_FIELDS | {"suffix", "thinking_budget"},
    ends_reasoning=True,
    max_logprobs=20,
    image_option="llama_server_mmproj",
    takes_no_images_when={"llama_server_image_input": False},
    audio_option="llama_server_audio_input",
    lora_option="llama_server_lora",
    embedding_option="llama_server_pooling",
    shortens_vectors=True,
    reranks_when={"llama_server_pooling": RANK},
    thinking_formats=(QWEN3, GEMMA4),
    thinking_disabled_when={"llama_server_reasoning": "off"},
    one_replica_with=("llama_server_port",),
    needs={
        "llama_server_draft_model": "llama_server_spec_type",
        "llama_server_spec_draft_n_max": "llama_server_spec_type",
        "llama_server_spec_draft_p_min": "llama_server_spec_type",
        "llama_server_image_max_tokens": "llama_server_mmproj",
        "llama_server_image_input": "llama_server_mmproj",
        "llama_server_audio_input": "llama_server_mmproj",
    },
    contradictions=(
        Contradiction(
            {"llama_server_spec_type": is_one_of("draft-simple"), "llama_server_draft_model": is_not_set},
            "{value} needs a draft model: set llama_server_draft_model",
        ),
        Contradiction(
            {"llama_server_extra_args": is_set, "llama_server_binary": is_not_set},
            "are for a native llama-server: set llama_server_binary too",
        ),
    ),
    own_prediction=OwnPrediction("llama_server_spec_type", "draft-mtp", "llama_server_draft_model"),
    caches_prefixes=True,
    keeps_states=True,
    prefix_cache_option="llama_server_cache_prompt",
    options=(
        Option(
            "llama_server_binary",
            "string",
            None,
            "the llama-server program; null uses the engine of the xllamacpp wheel",
            nullable=True,
            format="program",
        ),
        *server_options("llama_server_"),
        Option(
            "llama_server_n_ctx",
            "integer",
            4096,
            "tokens of context of one request",
            minimum=1,
            maximum=100_000_000,
            load_field=LoadField({"kind": "integer", "minimum": 1, "step": 1}),
        ),
        Option(
            "llama_server_n_gpu_layers", "integer", -1, "layers on the GPU; -1 is as many as fit", minimum=-1
        ),
        Option("llama_server_flash_attn", "enum", "auto", "flash attention", choices=("on", "off", "auto")),
        Option(
            "llama_server_threads",
            "integer",
            None,
            "CPU threads; null leaves the choice to the engine",
            nullable=True,
            minimum=1,
            maximum=1024,
        ),
        Option(
            "llama_server_mmproj",
            "string",
            None,
            "the file of the multimodal projector, which enables images",
            nullable=True,
            format="path",
            artifact=True,
        ),
        Option("llama_server_image_input", "boolean", True, "the projector takes images"),
        Option("llama_server_audio_input", "boolean", False, "the projector takes recordings in messages"),
        Option(
            "llama_server_draft_model",
            "string",
            None,
            "a smaller model that drafts tokens, with the method of llama_server_spec_type",
            nullable=True,
            format="path",
            artifact=True,
        ),
        Option(
            "llama_server_reasoning", "enum", "auto", "reasoning of the model", choices=("auto", "on", "off")
        ),
        Option(
            "llama_server_spec_type",
            "enum",
            None,
            "speculative decoding; draft-simple uses a draft model, draft-mtp a draft model or the"
            " model's own multi-token prediction; null disables it",
            nullable=True,
            choices=("draft-simple", "draft-mtp"),
            load_field=LoadField(
                {
                    "kind": "enum",
                    "default": "draft-mtp",
                    "allowed_values": ["draft-mtp"],
                    "examples": ["draft-mtp"],
                },
                null=True,
                null_means="no speculative decoding",
                about="speculative decoding: draft-mtp uses a draft model or the model's own multi-token"
                " prediction; null disables it",
            ),
        ),
        Option(
            "llama_server_spec_draft_n_max",
            "integer",
            None,
            f"maximum tokens drafted per step; null is {DRAFTED_TOKENS}",
            nullable=True,
            minimum=1,
            maximum=6,
            load_field=LoadField(
                {"kind": "integer", "minimum": 1, "maximum": 6, "step": 1, "default": DRAFTED_TOKENS},
                null_means=str(DRAFTED_TOKENS),
                about="maximum tokens drafted per step",
            ),
        ),
        Option(
            "llama_server_spec_draft_p_min",
            "float",
            None,
            f"minimum probability of a drafted token; null is {DRAFT_PROBABILITY}",
            nullable=True,
            minimum=0.0,
            maximum=1.0,
            load_field=LoadField(
                {"kind": "float", "minimum": 0.0, "maximum": 1.0, "default": DRAFT_PROBABILITY},
                null_means=str(DRAFT_PROBABILITY),
                about="minimum probability of a drafted token",
            ),
        ),
        Option(
            "llama_server_image_max_tokens",
            "integer",
            None,
            "maximum tokens of one image; null leaves the choice to the model",
            nullable=True,
            minimum=1,
            load_field=LoadField(
                {"kind": "integer", "minimum": 1, "step": 1},
                about="maximum tokens of one image",
                null_means="the model's own choice",
            ),
        ),
        lora_option("llama_server_", "GGUF files"),
        pooling_option("llama_server_", ranks=True),
        Option("llama_server_cache_prompt", "boolean", True, "reuse the computed prefix of a prompt"),
        Option(
            "llama_server_spare_slots",
            "integer",
            None,
            "slots beyond those for requests, each of which keeps one more prompt and takes the memory of a"
            f" slot; null is one for {SLOTS_PER_SPARE} slots on the CPU and none on a GPU",
            nullable=True,
            minimum=0,
            maximum=MAX_SEQUENCES - 1,
        ),
        Option(
            "llama_server_ctx_checkpoints",
            "integer",
            None,
            "checkpoints of each slot of a model with a recurrent state or a sliding window, in the host's"
            " memory; 0 makes none, null leaves the choice to the engine",
            nullable=True,
            minimum=0,
            maximum=1024,
        ),
        Option(
            "llama_server_chat_template_kwargs",
            "object",
            None,
            "default arguments of the model's chat template, by name; those of a request replace them",
            nullable=True,
        ),
        Option(
            "llama_server_memory_limit_mib",
            "integer",
            None,
            "MiB of the host's memory that the engine may allocate, files mapped into memory apart; beyond"
            " it a request fails, or the engine ends; null sets no limit",
            nullable=True,
            minimum=1,
            maximum=1 << 30,
        ),
        Option(
            "llama_server_extra_args",
            "list",
            (),
            "further arguments of a native llama-server",
            privileged=True,
        ),
    ),
)
