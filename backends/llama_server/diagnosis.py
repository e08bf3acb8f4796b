"""The messages of llama.cpp for a model that cannot be loaded, and what each means for an operator.

The patterns match llama.cpp's server of 2025 and 2026, as a program and inside xllamacpp. Those of a further
file (projector, draft model) come first, since the server reports such a file like the model's own.
"""

from __future__ import annotations

from backends.shared.diagnosis import Diagnoses

DIAGNOSES: Diagnoses = (
    (
        r"error while loading shared libraries: ([^:\s]{1,100})",
        "llama-server does not find its library {0}: set llama_server_library_path to its folder",
    ),
    (
        r"version `([^']{1,40})' not found",
        "llama-server was built for a newer system ({0}): build it here, or leave llama_server_binary out",
    ),
    (
        r"invalid argument: (\S{1,100})",
        "this llama-server does not support the argument {0}: correct llama_server_extra_args, or use a "
        "newer llama-server",
    ),
    (
        r'error while handling argument "([^"]{1,100})"',
        "this llama-server does not accept the value of the argument {0}: correct it, or use a newer "
        "llama-server",
    ),
    (
        r"couldn't bind",
        "the engine's port is used by another process",
    ),
    (
        r"mismatch between text model \(n_embd = (\d+)\) and mmproj \(n_embd = (\d+)\)",
        "llama_server_mmproj is the projector of another model: the model has {0} dimensions, and it has {1}",
    ),
    (
        r"failed to load multimodal model|[Ff]ailed to load CLIP model",
        "llama_server_mmproj is not a multimodal projector that this engine can load: correct it",
    ),
    (
        r"(?i)draft (?:model )?(?:and target )?vocab|vocabs? .{0,60}not .{0,20}compatible",
        "llama_server_draft_model has a different vocabulary from the model: use one of the same family",
    ),
    (
        r"failed to load draft model",
        "llama_server_draft_model cannot be loaded: it must be a GGUF file that this engine supports",
    ),
    (
        r"doesn't contain MTP layers|failed to create MTP context",
        "the model has no layers for multi-token prediction: set llama_server_spec_type to null,"
        " or draft with llama_server_draft_model",
    ),
    (
        r"(?i)chat template parsing error|failed to (?:parse|initialize) chat template",
        "the chat template in the model's file cannot be read: use another conversion of the model",
    ),
    (
        r"(?i)out of memory|unable to allocate|failed to allocate|bad_alloc|cudaMalloc failed",
        "there is not enough memory for the model and its context: lower llama_server_n_ctx or "
        "target_inflight, or use a smaller model",
    ),
    (
        r"CUDA error: (.{1,80})|(no CUDA-capable device)",
        "the GPU cannot be used ({0}): check it with nvidia-smi where the worker runs",
    ),
    (
        r"unknown model architecture: '([^']{1,60})'",
        "llama.cpp does not support the architecture of this model ({0}): name a newer llama-server in "
        "llama_server_binary",
    ),
    (
        r"unknown pre-tokenizer type: '([^']{1,60})'",
        "llama.cpp does not support the tokenizer of this model ({0}): name a newer llama-server in "
        "llama_server_binary",
    ),
    (
        r"not within the file bounds|corrupted or incomplete",
        "the model's file is incomplete: download it again",
    ),
    (
        r"missing tensor '([^']{1,80})'",
        "the model's file does not contain the tensor {0}: use another conversion of the model",
    ),
    (
        r"illegal split file|invalid split file",
        "model_path must name the first of the files that the model is split into",
    ),
    (
        r"failed to open GGUF file.{0,300}\(([A-Z][a-z ]{1,40})\)|(Permission denied)",
        "the model's file cannot be read ({0}): let the worker's user read it",
    ),
    (
        r"invalid magic characters|failed to read magic|failed to read header|this GGUF file is version",
        "the model's file is not a GGUF file: correct model_path",
    ),
    (
        r"error loading model: ([^\n]{1,200})",
        "llama.cpp cannot load the model: {0}",
    ),
)
