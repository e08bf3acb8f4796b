"""Translates the options of a `vllm_serve` model into the command and the environment of its server."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from backends.catalogue import BACKENDS
from backends.shared.start import engine_python, library_path
from backends.vllm.arguments import BINDING_VARIABLE, VllmOptions, refused
from backends.vllm.audio_libraries import check_audio_libraries
from config.settings import ROOT, ModelDefinition

PREFIX = "vllm_serve_"
MODULE = "vllm.entrypoints.openai.api_server"
MIDDLEWARE_FOLDER = Path(__file__).with_name("engine")
MIDDLEWARE = "stoker_key.RequireKey"
"""ASGI middleware in that folder that checks the API key; vLLM itself checks it at some endpoints only."""

MANAGED_FLAGS = (
    "--host",
    "--port",
    "--uds",
    "--api-key",
    "--model",
    "--served-model-name",
    "--max-num-seqs",
    "--headless",
    "--lora-modules",
)
UNSAFE_FLAGS = (
    *("--config", "--middleware", "--root-path", "--grpc", "--tool-server"),
    *("--ssl-keyfile", "--ssl-certfile", "--ssl-ca-certs"),
    *("--allowed-local-media-path", "--trust-request-chat-template", "--trust-request-mm-kwargs"),
)
"""Flags that `extra_args` may not contain, not even abbreviated: `MANAGED_FLAGS` are set by the adapter;
`UNSAFE_FLAGS` would open the server to others, take it out of the adapter's control, or give requests access
to local files."""

MULTI_PROCESS = (
    *("--distributed-executor-backend", "--dtype", "--tensor-parallel-size", "-tp"),
    *("--pipeline-parallel-size", "-pp", "--prefill-context-parallel-size", "-pcp", "--nnodes", "-n"),
)
"""Flags in `extra_args` that a core cannot follow when it runs the model itself: if it is the first of two
processes, it waits for the second without limit."""

TOKENIZER_FLAG = "--tokenizer"
"""The flag in `extra_args` that names a tokenizer outside of the model's folder."""

MANAGED_VARIABLES = ("VLLM_API_KEY", "VLLM_SERVER_DEV_MODE")
"""Variables that `environment` may not contain: the key, and the one that enables endpoints without a key."""


@dataclass(frozen=True)
class VllmServeOptions:
    """The parsed options of a `vllm_serve` model.

    `program` is the command up to the model. `environment` does not contain the API key. `port` and `api_key`
    None stand for a free and a random one.
    """

    vllm: VllmOptions
    program: tuple[str, ...]
    environment: dict[str, str]
    extra_args: tuple[str, ...]
    host: str
    port: int | None
    api_key: str | None

    @classmethod
    def of(cls, model: ModelDefinition, slots: int, environments: Path) -> VllmServeOptions:
        """Parse a model's options and find its program. Raises `LoadError` (load_failed)."""
        given = BACKENDS["vllm_serve"].with_defaults(model.options)
        extra, variables = tuple(given[PREFIX + "extra_args"]), given[PREFIX + "environment"] or {}
        for argument in extra:
            _check(argument)
        single_process = BINDING_VARIABLE not in variables and not any(
            _is_one_of(MULTI_PROCESS, argument) for argument in extra
        )
        own_tokenizer = not any(_is_one_of((TOKENIZER_FLAG,), argument) for argument in extra)
        vllm = VllmOptions.of(model, slots, single_process=single_process, own_tokenizer=own_tokenizer)
        environment = {**vllm.environment, **_libraries(given[PREFIX + "library_path"])}
        environment["PYTHONSAFEPATH"] = "1"  # never import from the working directory
        for name, value in variables.items():
            if name in MANAGED_VARIABLES:
                raise refused(f"{PREFIX}environment may not contain {name}")
            if not isinstance(value, str):
                raise refused(f"{name} in {PREFIX}environment must be a string")
            environment[name] = value
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, [str(MIDDLEWARE_FOLDER), variables.get("PYTHONPATH")])
        )
        program = _program(given[PREFIX + "binary"], vllm, environments, environment)
        address = {name: given[PREFIX + name] for name in ("host", "port", "api_key")}
        return cls(vllm, program, environment, extra, **address)

    @property
    def served(self) -> str:
        """The name of the model in the server's API."""
        return str(self.vllm.engine["served_model_name"])

    def served_lora(self, name: str) -> str:
        """The name of a LoRA adapter in the server's API. It is in the form of no model's name."""
        return f"lora:{name}"

    def _lora_flags(self) -> list[str]:
        modules = ({"name": self.served_lora(name), "path": path} for name, path in self.vllm.loras.items())
        return ["--lora-modules", *map(json.dumps, modules)] if self.vllm.loras else []

    def argv(self, port: int) -> list[str]:
        """Return the command of a server that listens on that port."""
        return [
            *(*self.program, self.vllm.engine["model"], "--host", self.host, "--port", str(port)),
            *self.vllm.flags(),
            *self._lora_flags(),
            *("--enable-prompt-tokens-details", "--disable-uvicorn-access-log"),
            *("--max-logprobs", str(BACKENDS["vllm_serve"].max_logprobs + 1)),
            *self.extra_args,
            *("--middleware", MIDDLEWARE),
        ]


def _check(argument: str) -> None:
    if _is_one_of(MANAGED_FLAGS + UNSAFE_FLAGS, argument):
        raise refused(f"{PREFIX}extra_args may not contain {argument.partition('=')[0]}")


def _is_one_of(flags: Sequence[str], argument: str) -> bool:
    """Whether an argument is one of these flags, or an abbreviation of one, which vLLM accepts."""
    flag = argument.partition("=")[0].replace("_", "-")
    return flag in flags or (len(flag) > 2 and any(known.startswith(flag) for known in flags))


def _libraries(folder: str | None) -> dict[str, str]:
    if folder is None:
        return {}
    path = ROOT / Path(folder).expanduser()
    if not path.is_dir():
        raise refused(f"{path} is not a folder: correct {PREFIX}library_path")
    return library_path(path)


def _program(
    binary: str | None, vllm: VllmOptions, environments: Path, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the configured program, or the one of the Python if it works, or vLLM's module."""
    if binary is not None:
        found = shutil.which(binary)
        if found is None:
            raise refused(f"there is no program {binary}: correct {PREFIX}binary, or leave it out")
        return found, "serve"
    otherwise = f", or set {PREFIX}binary"
    interpreter = engine_python(environments, "vllm_serve", vllm.python, otherwise=otherwise)
    if vllm.takes_audio:
        check_audio_libraries(interpreter, "-s", environment)
    program = interpreter.with_name("vllm")
    if program.exists() and _is_called_vllm(interpreter):
        return str(program), "serve"
    return str(interpreter), "-s", "-m", MODULE, "--model"


def _is_called_vllm(python: Path) -> bool:
    """Whether vLLM is installed as the distribution `vllm`.

    Its program looks itself up under this name, and the builds for the CPU have another one.
    """
    found: Sequence[Path] = list(python.parent.parent.glob("lib/python3*/site-packages/vllm-*.dist-info"))
    return bool(found)
