"""The messages of llama.cpp's server for a model that cannot be loaded, and what each means.

The patterns match servers of 2025 and 2026, as a program and inside xllamacpp. Those of a further file
(projector, draft model) come first, since the server reports such a file like the model's own.
"""

from __future__ import annotations

from backends.shared.diagnosis import Diagnoses
from backends.shared.llama_diagnosis import llama_diagnoses

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
        r"std::bad_alloc|std::system_error",
        "there is not enough memory for the model and its context: lower llama_server_n_ctx or "
        "target_inflight, or raise llama_server_memory_limit_mib if it is set",
    ),
    *llama_diagnoses("llama_server_", "name a newer llama-server in llama_server_binary"),
)
