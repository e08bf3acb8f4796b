"""The messages of llama.cpp for a model that cannot be loaded, and what each means for an operator.

The patterns match llama.cpp of 2025 and 2026: as a library, as a server, and inside xllamacpp. The message of
a failed load quotes the line that was found.
"""

from __future__ import annotations

import re

from backends.shared.diagnosis import Diagnoses, Quote

LOG_PREFIX = re.compile(
    r"^(?:[\d.]+ [A-Z] )?(?:(?:srv|cmn|slot|que) +)?(?:(?:[a-z]+_\w*|init|load|error): +)*"
)
"""What the log puts before a message: the time and the level, and the names of functions."""


def llama_diagnoses(prefix: str, newer: str) -> Diagnoses:
    """The diagnoses for a backend whose options begin with `prefix`.

    `newer` says how to get a newer llama.cpp.
    The patterns are tried in this order, the particular ones before the general ones.
    """
    template = "use another conversion of the model, or a newer llama.cpp"
    other = "use another conversion of the model"
    return (
        (
            r"(?s)chat template parsing error.{0,2000}?\n(Error: Jinja Exception: [^\n]+)",
            "the chat template in the model's file raises an error as soon as it is tried: give it the"
            f" arguments that it needs in {prefix}chat_template_kwargs, or {other}",
        ),
        (
            r"(?s)chat template parsing error.{0,2000}?\n(Error: [^\n]+)",
            f"the chat template in the model's file cannot be run: {template}",
        ),
        (
            r"common_chat_templates_init: (error: [^\n]+)",
            f"the chat template in the model's file cannot be read: {template}",
        ),
        (
            r"(?i)chat template parsing error|failed to (?:parse|initialize) chat template",
            f"the chat template in the model's file cannot be read: {template}",
        ),
        (
            r"(?i)out of memory|unable to allocate|failed to allocate|bad_alloc|cudaMalloc failed",
            f"there is not enough memory for the model and its context: lower {prefix}n_ctx or "
            "target_inflight, or use a smaller model",
        ),
        (
            r"CUDA error: (.{1,80})|(no CUDA-capable device)",
            "the GPU cannot be used: check it with nvidia-smi where the worker runs",
        ),
        (
            r"unknown model architecture: '([^']{1,60})'",
            f"llama.cpp does not support the architecture of this model ({{0}}): {newer}",
        ),
        (
            r"unknown pre-tokenizer type: '([^']{1,60})'",
            f"llama.cpp does not support the tokenizer of this model ({{0}}): {newer}",
        ),
        (
            r"this GGUF file is version (\d+) but this software only supports up to version (\d+)",
            f"the model's file has GGUF version {{0}}, and this llama.cpp reads up to {{1}}: {newer}, or use"
            " a conversion in an older version",
        ),
        (
            r"this GGUF file version \d+ is extremely large",
            "the model's file is in another byte order: use a conversion in little-endian order",
        ),
        (
            r"not within the file bounds|corrupted or incomplete|unexpectedly reached end",
            "the model's file is incomplete: download it again",
        ),
        (
            r"(?:missing )?tensor '([^']{1,80})'(?: not found)?[^\n]{0,20}\n",
            f"the model's file does not contain the tensor {{0}}: {other}",
        ),
        (
            r"tensor '([^']{1,80})' has wrong shape",
            f"the tensor {{0}} in the model's file has another shape than llama.cpp expects: {other}, or"
            f" {newer}",
        ),
        (
            r"invalid ggml type (\d+)|tensor type (\d+) is not supported|has invalid ggml type (\d+)",
            f"the model's weights have a type that this llama.cpp does not know: {newer}, or {other}",
        ),
        (
            r"key not found in model: (\S{1,100})",
            f"the model's file does not have the setting {{0}}, which llama.cpp needs: {other}",
        ),
        (
            r"failed to open GGUF file '([^'\n]{1,300})' \(No such file",
            "{0}, a part of the model, is missing: put all parts into one folder",
        ),
        (
            r"illegal split file|invalid split file",
            "model_path must name the first of the files of a split model, under its own name",
        ),
        (
            r"failed to open GGUF file.{0,300}\(([A-Z][a-z ]{1,40})\)|(Permission denied)",
            "the model's file cannot be read: let the worker's user read it",
        ),
        (
            r"invalid magic characters|failed to read magic|failed to read header",
            "the model's file is not a valid GGUF file: correct model_path, or download the file again",
        ),
        (
            r"(?i)V cache[^\n]{0,60}requires? flash|requires? flash_attn|Flash Attention[^\n]{0,40}V cache",
            f"a quantized {prefix}type_v needs flash attention, which this model or {prefix}flash_attn does"
            " not allow: set it to f16",
        ),
        (
            r"(?i)[KV] cache type [^\n]{1,120}",
            f"{prefix}type_k or {prefix}type_v does not fit this model: set it to f16",
        ),
        (
            r"failed to initialize the context: [^\n]{1,200}",
            f"llama.cpp cannot make a context for the model: change {prefix}n_ctx, {prefix}flash_attn or the"
            " cache types",
        ),
        (
            r"error loading model(?: hyperparameters| vocabulary)?: [^\n]{1,200}",
            f"llama.cpp cannot load the model: {other}, or {newer}",
        ),
        (
            r"GGML_ASSERT\([^\n]{1,200}|terminate called[^\n]{0,100}\n[^\n]{0,200}",
            f"llama.cpp stopped at an internal check: {newer}, or {other}",
        ),
    )


def message_of(line: str) -> str:
    """The message in a line of llama.cpp's log, without what the log puts before it."""
    return LOG_PREFIX.sub("", line) or line


QUOTE = Quote("llama.cpp", message_of)
