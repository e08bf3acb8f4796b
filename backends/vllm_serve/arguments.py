"""What only a managed `vllm serve` may be told, and the command and the environment that come of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from backends.catalogue import BACKENDS
from backends.shared.http_client import LOOPBACK
from backends.shared.libraries import library_path, python_of
from backends.vllm.arguments import BINDING, VllmOptions, refused
from config.settings import ROOT, ModelDefinition

PREFIX = "vllm_serve_"
MODULE = "vllm.entrypoints.openai.api_server"
IMPORTED = Path(__file__).with_name("engine")
ASKS_FOR_THE_KEY = "stoker_key.Key"
"""Middleware in that folder: vLLM itself asks for the key at some of its paths only."""

OURS = (
    "--host",
    "--port",
    "--uds",
    "--api-key",
    "--model",
    "--served-model-name",
    "--max-num-seqs",
    "--headless",
)
UNSAFE = (
    *("--config", "--middleware", "--root-path", "--grpc", "--tool-server"),
    *("--ssl-keyfile", "--ssl-certfile", "--ssl-ca-certs"),
    *("--allowed-local-media-path", "--trust-request-chat-template", "--trust-request-mm-kwargs"),
)
"""Flags that `extra_args` may not hold, nor a beginning of them: what we set ourselves, and what would open
the server, take it from us, or let a request reach this machine's files."""


PROCESSES = (
    *("--distributed-executor-backend", "--dtype", "--tensor-parallel-size", "-tp"),
    *("--pipeline-parallel-size", "-pp", "--prefill-context-parallel-size", "-pcp", "--nnodes", "-n"),
)
"""Flags in `extra_args` that a core which computes itself could not follow: one that is to be the first of
two waits for the second without end."""


OUR_VARIABLES = ("VLLM_API_KEY", "VLLM_SERVER_DEV_MODE")
"""Variables that `environment` may not hold: the key, and what opens paths that ask for none."""


@dataclass(frozen=True)
class VllmServeOptions:
    """The options of a `vllm_serve` model, read.

    `program` is what starts a server when the model follows it; `environment` lacks the key.
    """

    vllm: VllmOptions
    program: tuple[str, ...]
    environment: dict[str, str]
    extra_args: tuple[str, ...]

    @classmethod
    def of(cls, model: ModelDefinition, slots: int, environments: Path) -> VllmServeOptions:
        """Read a model's options and look for its program. Raises `LoadError` (load_failed)."""
        given = BACKENDS["vllm_serve"].with_defaults(model.options)
        extra, variables = tuple(given[PREFIX + "extra_args"]), given[PREFIX + "environment"] or {}
        for argument in extra:
            _check(argument)
        alone = BINDING not in variables and not any(_is_one_of(PROCESSES, argument) for argument in extra)
        vllm = VllmOptions.of(model, slots, alone=alone)
        environment = {**vllm.environment, **_libraries(given[PREFIX + "library_path"])}
        environment["PYTHONSAFEPATH"] = "1"  # it imports nothing from the folder that it is started in
        for name, value in variables.items():
            if name in OUR_VARIABLES:
                raise refused(f"{PREFIX}environment may not hold {name}")
            if not isinstance(value, str):
                raise refused(f"{name} in {PREFIX}environment must be text")
            environment[name] = value
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, [str(IMPORTED), variables.get("PYTHONPATH")])
        )
        return cls(vllm, _program(given[PREFIX + "binary"], vllm.python, environments), environment, extra)

    @property
    def served(self) -> str:
        """The model's name there."""
        return str(self.vllm.engine["served_model_name"])

    def argv(self, port: int) -> list[str]:
        """The command of a server on the loopback interface."""
        return [
            *(*self.program, self.vllm.engine["model"], "--host", LOOPBACK, "--port", str(port)),
            *self.vllm.flags(),
            *("--enable-prompt-tokens-details", "--disable-uvicorn-access-log"),
            *self.extra_args,
            *("--middleware", ASKS_FOR_THE_KEY),
        ]


def _check(argument: str) -> None:
    if _is_one_of(OURS + UNSAFE, argument):
        raise refused(f"{PREFIX}extra_args may not hold {argument.partition('=')[0]}")


def _is_one_of(flags: Sequence[str], argument: str) -> bool:
    """Whether it is one of these flags, or a beginning of it, which vLLM takes for the whole."""
    flag = argument.partition("=")[0].replace("_", "-")
    return flag in flags or (len(flag) > 2 and any(other.startswith(flag) for other in flags))


def _libraries(folder: str | None) -> dict[str, str]:
    if folder is None:
        return {}
    path = ROOT / Path(folder).expanduser()
    if not path.is_dir():
        raise refused(f"{path} is no folder: correct {PREFIX}library_path")
    return library_path(path)


def _program(binary: str | None, python: str | None, environments: Path) -> tuple[str, ...]:
    """The configured program; else the one beside the Python, where it works; else its module."""
    if binary is not None:
        found = shutil.which(binary)
        if found is None:
            raise refused(f"there is no program {binary}: correct {PREFIX}binary, or leave it out")
        return found, "serve"
    interpreting = python_of(environments, "vllm_serve", python, otherwise=f", or set {PREFIX}binary")
    program = interpreting.with_name("vllm")
    if program.exists() and _is_called_vllm(interpreting):
        return str(program), "serve"
    return str(interpreting), "-s", "-m", MODULE, "--model"


def _is_called_vllm(python: Path) -> bool:
    """Whether the library is installed under its own name: the program looks itself up by it, and a build for
    the CPU has another."""
    found: Sequence[Path] = list(python.parent.parent.glob("lib/python3*/site-packages/vllm-*.dist-info"))
    return bool(found)
