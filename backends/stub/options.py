"""The options of the stub, a backend without a model for tests and demonstrations."""

from __future__ import annotations

from backends.declaration import LLAMA_FIELDS, SAMPLING_FIELDS, Backend, Option, lora_option
from backends.load_parameters import QUANTIZATION, LoadParameters
from backends.parameter_rules import ContextOption, Impossible, KnownNeed
from backends.prompt_formats import PROMPT_FORMATS

BACKEND = Backend(
    "stub",
    "stub_",
    parameters=LoadParameters(
        quantization=Impossible(QUANTIZATION, "the stub has no weights"),
        context=ContextOption("stub_context", most=10_000_000),
        memory=KnownNeed("stub_memory_mib"),
    ),
    needs_model_path=False,
    takes_prompts=True,
    sampling=SAMPLING_FIELDS - LLAMA_FIELDS,
    ends_reasoning=True,
    max_logprobs=20,
    scores_prompts=True,
    counts_tokens=True,
    text_tasks=True,
    constrains_output=True,
    image_option="stub_image_input",
    audio_option="stub_audio_input",
    lora_option="stub_lora",
    embedding_option="stub_dimensions",
    shortens_vectors=True,
    media_option="stub_media",
    reranks_when={"stub_rerank": True},
    thinking_formats=PROMPT_FORMATS,
    caches_prefixes=True,
    options=(
        Option("stub_tokens", "integer", 16, "tokens of an answer", minimum=0, maximum=1_000_000),
        Option("stub_tokens_per_s", "float", 0.0, "speed of each generation; 0 is unlimited", minimum=0),
        Option("stub_first_token_s", "float", 0.0, "delay of the first token", minimum=0),
        Option("stub_load_s", "float", 0.0, "duration of a load", minimum=0),
        Option("stub_load_fail", "string", None, "fail each load with this text", nullable=True),
        Option("stub_load_crash", "boolean", False, "crash while loading"),
        Option("stub_load_hang", "boolean", False, "never finish loading"),
        Option(
            "stub_print",
            "string",
            None,
            "text with escapes (`\\n`) that a load prints to its log",
            nullable=True,
        ),
        Option("stub_print_endlessly", "boolean", False, "print lines to the engine's log without end"),
        Option("stub_memory_mib", "integer", 0, "memory taken by a load, in MiB", minimum=0, maximum=1 << 20),
        Option("stub_ignore_sigterm", "boolean", False, "ignore SIGTERM"),
        Option("stub_directives", "boolean", True, "follow directives in the prompt"),
        Option("stub_image_input", "boolean", False, "the model takes images"),
        Option("stub_audio_input", "boolean", False, "the model takes recordings in messages"),
        Option("stub_context", "integer", 4096, "maximum words of a prompt", minimum=1, maximum=10_000_000),
        Option(
            "stub_dimensions",
            "integer",
            None,
            "numbers of a vector: the model makes vectors of texts, and no answers",
            nullable=True,
            minimum=1,
            maximum=4096,
        ),
        Option(
            "stub_media",
            "enum",
            None,
            "what the model makes in place of answers",
            nullable=True,
            choices=("transcript", "image", "speech"),
        ),
        Option("stub_rerank", "boolean", False, "the model scores documents, and makes no answers"),
        Option(
            "stub_artifact",
            "string",
            None,
            "a file whose size is used as that of a model",
            nullable=True,
            format="path",
            artifact=True,
        ),
        lora_option("stub_", "unread files"),
    ),
)
