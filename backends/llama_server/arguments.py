"""Translates the options of a `llama_server` model for both kinds of engine.

`llama_server_n_ctx` is the context of *one* request. llama-server divides its `--ctx-size` between its
slots, so it is started with n_ctx times the slots, spare ones included, where n_ctx is at most the context
that the model was trained on; the loaded engine's `context` is the value in force.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from backends.base import LoadError
from backends.catalogue import BACKENDS
from backends.llama_server.options import DRAFT_PROBABILITY, DRAFTED_TOKENS, RANK
from backends.memory_rules import spare_sequences
from backends.shared.gguf_files import check_continues_text, checked_gguf
from backends.shared.option_check import check_options
from config.settings import ROOT, ModelDefinition
from engines.nvml import device_type
from fleet.artifacts.gguf_header import GgufHeader, read_gguf_header

BACKEND = BACKENDS["llama_server"]
PREFIX = BACKEND.prefix
SPECULATION_DEFAULTS = {"spec_draft_n_max": DRAFTED_TOKENS, "spec_draft_p_min": DRAFT_PROBABILITY}
TEMPLATE = "tokenizer.chat_template"
CONTEXT_STEP = 256  # llama-server rounds a slot's context up to a multiple

SLOT_FOLDER = "/proc/self/task"
"""The server erases slots only if it has a folder to save them in, and clients that know its key might then
save and restore them. In this folder nobody can make a file, and there is none to read."""

MANAGED_FLAGS = (
    "--host",
    "--port",
    "--api-key",
    "--api-key-file",
    "--model",
    "-m",
    "--parallel",
    "-np",
    "--ctx-size",
    "-c",
    "--cache-ram",
    "-cram",
    "--embedding",
    "--embeddings",
    "--pooling",
    "--rerank",
    "--reranking",
)
UNSAFE_FLAGS = (
    "--slot-save-path",
    "--tools",
    "--agent",
    "--mcp-servers-config",
    "--mcp-servers-json",
    "--ui-mcp-proxy",
    "--webui-mcp-proxy",
    "--media-path",
    "--path",
    "--api-prefix",
    "--ssl-cert-file",
    "--ssl-key-file",
    "--models-dir",
    "--models-preset",
)
SHARED_CACHE_FLAGS = ("--spec-default", "--lookup-cache-dynamic", "-lcd")
"""Flags that `extra_args` may not contain: `MANAGED_FLAGS` are set by the adapter; `UNSAFE_FLAGS` would open
the server or local files to others, or take the server out of the adapter's control; `SHARED_CACHE_FLAGS`
make the drafts of a request depend on the texts of others, so that its speed would tell a tenant what others
have sent."""

CONTEXT_FLAGS = ("--override-kv",)
"""Flags in `extra_args` that may change the context that the model was trained on."""

LORA_FLAGS = ("--lora", "--lora-scaled", "--lora-init-without-apply")
"""Flags that `extra_args` may not contain beside the option `lora`: they change the adapters' numbers."""

SHARED_DRAFTS = "ngram-mod"
"""The method of `--spec-type` whose table all slots share (llama.cpp, docs/speculative.md)."""

MANAGED_VARIABLE = re.compile(r"LLAMA_API_KEY|LLAMA_ARG_.*", re.IGNORECASE)
"""Variables that `environment` may not contain: the key, and those that llama-server reads as flags."""


@dataclass(frozen=True)
class LlamaServerOptions:
    """The parsed options of a model, by their names without the prefix.

    Paths are absolute. None leaves the choice to the server, as do `n_gpu_layers` -1 (as many as fit) and
    `auto` for `flash_attn` and `reasoning`. `binary` None stands for the engine inside xllamacpp, `spec_type`
    None for no speculative decoding, `port` and `api_key` None for a free and a random one. The server knows
    a LoRA adapter by its place in `lora`. `slots` are for requests, `spare_slots` are those beyond them.
    `chat_template` None is the one in the file.
    """

    model: Path
    slots: int
    binary: Path | None
    n_ctx: int
    n_gpu_layers: int
    flash_attn: str
    threads: int | None
    mmproj: Path | None
    image_input: bool
    audio_input: bool
    draft_model: Path | None
    lora: Mapping[str, Path]
    library_path: Path | None
    environment: Mapping[str, str]
    host: str
    port: int | None
    api_key: str | None
    reasoning: str
    spec_type: str | None
    spec_draft_n_max: int | None
    spec_draft_p_min: float | None
    image_max_tokens: int | None
    extra_args: tuple[str, ...]
    cache_prompt: bool
    spare_slots: int
    ctx_checkpoints: int | None
    chat_template_kwargs: Mapping[str, Any]
    chat_template: str | None
    pooling: str | None
    memory_limit_mib: int | None
    trained_context: int | None

    @classmethod
    def of(cls, model: ModelDefinition, slots: int) -> LlamaServerOptions:
        """Parse a model's options and check that its files exist. Raises `LoadError` (load_failed)."""
        given = BACKEND.values(model.options)
        if model.model_path is None:
            raise _refused("set model_path to a GGUF file")
        path, header = checked_gguf("model_path", model.model_path)
        for name in ("binary", "library_path"):
            if given[name] is not None:
                given[name] = _found(name, given[name])
        for name, kind in (("mmproj", "mmproj"), ("draft_model", "model")):
            if given[name] is not None:
                given[name] = checked_gguf(PREFIX + name, given[name], kind)[0]
        given["lora"] = {
            name: checked_gguf(f"{PREFIX}lora.{name}", file, "adapter")[0]
            for name, file in sorted((given["lora"] or {}).items())
        }
        if given["pooling"] is None:
            check_continues_text(path, header, PREFIX)
        check_options(model)  # after the files, which no load changes
        given["chat_template_kwargs"] = given["chat_template_kwargs"] or {}
        given["chat_template"] = _template_with(given["chat_template_kwargs"], path)
        given["extra_args"] = tuple(given["extra_args"])
        given["environment"] = given["environment"] or {}
        if model.device == "cpu":
            given["n_gpu_layers"] = 0
        if given["pooling"] is not None:
            given["cache_prompt"] = False
        wanted = given["spare_slots"] if given["cache_prompt"] else 0
        on_gpu = given["n_gpu_layers"] != 0 and not (model.device == "auto" and device_type() == "cpu")
        given["spare_slots"] = spare_sequences(wanted, slots, on_gpu=on_gpu)
        if given["spec_type"] is None:
            given["draft_model"] = None  # it would be loaded and never used
        else:
            for name, default in SPECULATION_DEFAULTS.items():
                given[name] = default if given[name] is None else given[name]
        options = cls(model=path, slots=slots, trained_context=_trained_context(header), **given)
        options._check(header)
        return options

    def _check(self, header: GgufHeader | None) -> None:
        if self.binary is not None and not os.access(self.binary, os.X_OK):
            raise _refused(
                f"{self.binary} is not executable: chmod +x it, or set {PREFIX}binary to a llama-server"
            )
        if self.pooling == RANK and not _has_classifier(header):
            raise _refused(
                f"{self.model.name} cannot score documents because it has no classifier: set "
                f"{PREFIX}pooling to another value, or model_path to a reranker"
            )
        for name, value in self.environment.items():
            if MANAGED_VARIABLE.fullmatch(name):
                raise _refused(f"{PREFIX}environment may not contain {name}")
            if not isinstance(value, str):
                raise _refused(f"{name} in {PREFIX}environment must be a string")
        if self.binary is not None and any(set(str(path)) & set(",:") for path in self.lora.values()):
            raise _refused(f"a path in {PREFIX}lora has a comma or a colon, which a native server splits at")
        managed = MANAGED_FLAGS + UNSAFE_FLAGS + SHARED_CACHE_FLAGS + (LORA_FLAGS if self.lora else ())
        for argument, following in zip_longest(self.extra_args, self.extra_args[1:], fillvalue=""):
            flag, _, value = argument.partition("=")
            known = flag.replace("_", "-")  # llama-server reads --api_key as --api-key
            drafts = (value or following).split(",") if known == "--spec-type" else ()
            if known in managed or SHARED_DRAFTS in drafts:
                with_value = f" with {SHARED_DRAFTS}" if drafts else ""
                raise _refused(f"{PREFIX}extra_args may not contain {flag}{with_value}")

    @property
    def engine_slots(self) -> int:
        """The slots that the server has: those for requests, and the spare ones."""
        return self.slots + self.spare_slots

    @property
    def total_context(self) -> int:
        """The context of all slots together, in tokens. The server uses no more than the model's own."""
        changed = any(self._has_argument(flag) for flag in CONTEXT_FLAGS)
        n_ctx = self.n_ctx if changed else min(self.n_ctx, self.trained_context or self.n_ctx)
        return -(-n_ctx // CONTEXT_STEP) * CONTEXT_STEP * self.engine_slots

    def _has_argument(self, flag: str) -> bool:
        return any(argument.partition("=")[0].replace("_", "-") == flag for argument in self.extra_args)

    @property
    def batch(self) -> int | None:
        """The tokens of a batch: of a text of which a vector is made, all have to be in one."""
        return None if self.pooling is None else self.total_context // self.engine_slots

    def argv(self, port: int, slot_folder: str = SLOT_FOLDER) -> list[str]:
        """Return the command of a native server that listens on that port, and saves slots in that folder."""
        argv = [str(self.binary), "--model", str(self.model), "--host", self.host, "--port", str(port)]
        argv += [
            "--parallel",
            str(self.engine_slots),
            "--ctx-size",
            str(self.total_context),
            "--jinja",
            "--no-webui",
            "--slot-save-path",
            slot_folder,
        ]
        if not self.cache_prompt:
            argv += ["--no-cache-prompt"]
        if self.pooling is not None:
            argv += ["--embeddings", "--batch-size", str(self.batch), "--ubatch-size", str(self.batch)]
            # with a cache for each slot the tokens of texts of different lengths are computed in several
            # steps, of which a text's vector would have the last one only; for answers a shared one would
            # let a request take the cells of others
            argv += ["--kv-unified"]
        for path in self.lora.values():
            argv += ["--lora-scaled", f"{path}:0"]  # no request without a name gets it
        arguments = dict(self.chat_template_kwargs)
        flags: Mapping[str, Any] = {
            "--n-gpu-layers": None if self.n_gpu_layers < 0 else self.n_gpu_layers,
            "--flash-attn": None if self.flash_attn == "auto" else self.flash_attn,
            "--threads": self.threads,
            "--ctx-checkpoints": self.ctx_checkpoints,
            "--mmproj": self.mmproj,
            "--model-draft": self.draft_model,
            "--reasoning": None if self.reasoning == "auto" else self.reasoning,
            "--spec-type": self.spec_type,
            "--spec-draft-n-max": self.spec_draft_n_max,
            "--spec-draft-p-min": self.spec_draft_p_min,
            "--image-max-tokens": self.image_max_tokens,
            "--pooling": None if self.pooling == "auto" else self.pooling,
            "--chat-template": self.chat_template,
            "--chat-template-kwargs": json.dumps(arguments) if arguments else None,
        }
        for flag, value in flags.items():
            argv += [] if value is None else [flag, str(value)]
        return [*argv, *self.extra_args]

    def for_engine(self, slot_folder: str = SLOT_FOLDER) -> dict[str, Any]:
        """Return the arguments of `backends/llama_server/engine/main.py`, as JSON values."""
        names = ["n_gpu_layers", "flash_attn", "threads", "reasoning", "spec_type", "spec_draft_n_max"]
        names += ["spec_draft_p_min", "image_max_tokens", "cache_prompt", "host", "port"]
        names += ["pooling", "batch", "chat_template_kwargs", "chat_template", "ctx_checkpoints"]
        paths = {name: getattr(self, name) for name in ("model", "mmproj", "draft_model")}
        return {
            **{name: getattr(self, name) for name in names},
            **{name: path and str(path) for name, path in paths.items()},
            "lora": [str(path) for path in self.lora.values()],
            "slots": self.engine_slots,
            "total_context": self.total_context,
            "slot_folder": slot_folder,
        }


def _found(option: str, value: str) -> Path:
    path = ROOT / Path(value).expanduser()
    if not path.exists():
        raise _refused(f"{path} does not exist: put the file there, or correct {PREFIX}{option}")
    return path


def _has_classifier(header: GgufHeader | None) -> bool:
    """Whether a GGUF file has the tensors of a classifier, as rerankers do; true if it is unreadable."""
    return header is None or any(tensor.name.startswith("cls.") for tensor in header.tensors)


def _template_with(arguments: Mapping[str, Any], path: Path) -> str | None:
    """The file's chat template with these defaults; None if it is used as it is.

    The server tries a template before it knows the arguments that are configured, and fails if it raises.
    """
    source = read_gguf_header(path, TEMPLATE).settings.get(TEMPLATE) if arguments else None
    if not isinstance(source, str) or not source.strip():
        return None
    return "".join(map(_default, arguments, arguments.values())) + source


def _default(name: str, value: Any) -> str:
    if not name.isidentifier():
        raise _refused(f"{PREFIX}chat_template_kwargs has the name {name!r}, which no template can use")
    return f"{{%- if {name} is not defined -%}}{{%- set {name} = {_literal(value)} -%}}{{%- endif -%}}"


def _literal(value: Any) -> str:
    """A value as Jinja writes it: like JSON, but for null."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(name)}: {_literal(part)}" for name, part in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def _trained_context(header: GgufHeader | None) -> int | None:
    return None if header is None else header.number("context_length")


def _refused(sentence: str) -> LoadError:
    return LoadError("load_failed", sentence)
