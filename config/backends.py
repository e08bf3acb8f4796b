"""The backends and their option fields: one declarative table each.

Everything that depends on a backend's fields is read from here: the check of `settings.json`, the
`load_constraints` of the admin API, the request schema of a load. Nothing is written twice. The names carry
their backend's prefix, as the Runtime Admin API has them (`llama_server_n_ctx`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

KINDS = ("integer", "float", "enum", "string", "boolean", "list", "object")


@dataclass(frozen=True, slots=True)
class Option:
    """One option field of a backend.

    `kind` is one of KINDS, the bounds are inclusive, `choices` belong to an enum. `live` fields may be
    changed for one load through the admin API; the others are the operator's alone (paths, arguments).
    Where null leaves the choice to the engine, `suggested` is what a form may offer. `format` "path" is
    resolved against the project's root; a "program" is one too, or a name to be found on PATH.
    """

    name: str
    kind: str
    default: Any
    about: str
    nullable: bool = False
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    live: bool = False
    suggested: Any = None
    format: str | None = None

    def constraint(self) -> dict[str, Any]:
        """The field as `load_constraints` of the admin API describes it."""
        text = self.kind == "string" and self.nullable
        entries = {
            "kind": "string_or_null" if text else self.kind,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "step": 1 if self.kind == "integer" else None,
            "default": self.suggested,
            "allowed_values": list(self.choices) or None,
            "examples": list(self.choices) or None,
            "format": self.format,
            "description": self.about,
        }
        return {name: value for name, value in entries.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Backend:
    """A way to run models. One that is not `available` is known by name only."""

    name: str
    options: tuple[Option, ...] = ()
    needs_model_path: bool = True
    available: bool = True

    def option(self, name: str) -> Option | None:
        """The option of that name, or None."""
        return next((option for option in self.options if option.name == name), None)

    @property
    def load_constraints(self) -> dict[str, dict[str, Any]]:
        """What one load may change, by field name."""
        return {option.name: option.constraint() for option in self.options if option.live}


STUB = Backend(
    "stub",
    needs_model_path=False,
    options=(
        Option("stub_tokens", "integer", 16, "tokens of an answer", minimum=0, maximum=1_000_000),
        Option("stub_tokens_per_s", "float", 0.0, "speed; 0 is as fast as it can", minimum=0),
        Option("stub_first_token_s", "float", 0.0, "silence before the first token", minimum=0),
        Option("stub_load_s", "float", 0.0, "how long a load takes", minimum=0),
        Option("stub_load_fail", "string", None, "fail each load with this text", nullable=True),
        Option("stub_load_crash", "boolean", False, "die while loading"),
        Option("stub_load_hang", "boolean", False, "never finish loading"),
        Option("stub_ignore_sigterm", "boolean", False, "do not end when asked to"),
        Option("stub_directives", "boolean", True, "obey directives in the prompt"),
        Option(
            "stub_context", "integer", 4096, "words that a prompt may have", minimum=1, maximum=10_000_000
        ),
    ),
)

LLAMA_SERVER = Backend(
    "llama_server",
    options=(
        Option(
            "llama_server_binary",
            "string",
            None,
            "the llama-server program; null takes the engine inside xllamacpp",
            nullable=True,
            format="program",
        ),
        Option(
            "llama_server_library_path",
            "string",
            None,
            "folder of the program's shared libraries",
            nullable=True,
            format="path",
        ),
        Option(
            "llama_server_n_ctx",
            "integer",
            4096,
            "tokens of context of one request",
            minimum=1,
            maximum=100_000_000,
            live=True,
        ),
        Option(
            "llama_server_n_gpu_layers", "integer", -1, "layers on the GPU; -1: as many as fit", minimum=-1
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
        Option("llama_server_mmproj", "string", None, "multimodal projector", nullable=True, format="path"),
        Option("llama_server_draft_model", "string", None, "speculative draft", nullable=True, format="path"),
        Option(
            "llama_server_reasoning", "enum", "auto", "thinking of the model", choices=("auto", "on", "off")
        ),
        Option(
            "llama_server_spec_type",
            "enum",
            None,
            "speculative decoding; null is none",
            nullable=True,
            choices=("draft-mtp",),
            live=True,
            suggested="draft-mtp",
        ),
        Option(
            "llama_server_spec_draft_n_max",
            "integer",
            None,
            "tokens drafted at once",
            nullable=True,
            minimum=1,
            maximum=6,
            live=True,
            suggested=2,
        ),
        Option(
            "llama_server_spec_draft_p_min",
            "float",
            None,
            "least probability of a drafted token",
            nullable=True,
            minimum=0.0,
            maximum=1.0,
            live=True,
            suggested=0.0,
        ),
        Option(
            "llama_server_image_max_tokens",
            "integer",
            None,
            "tokens of one image; null leaves the choice to the model",
            nullable=True,
            minimum=1,
            live=True,
        ),
        Option("llama_server_cache_prompt", "boolean", True, "reuse the computed prefix of a prompt"),
        Option("llama_server_extra_args", "list", (), "further arguments of a native program"),
    ),
)

PLANNED = ("llama_cpp", "vllm", "vllm_serve", "exllamav3", "ct2", "openai_remote")
"""Backends that have a name and no adapter yet."""

BACKENDS: Mapping[str, Backend] = {
    backend.name: backend
    for backend in (STUB, LLAMA_SERVER, *(Backend(name, available=False) for name in PLANNED))
}
AVAILABLE = tuple(name for name, backend in BACKENDS.items() if backend.available)


def owner(field: str) -> Backend | None:
    """The backend that has an option of this name, or None."""
    return next((backend for backend in BACKENDS.values() if backend.option(field)), None)
