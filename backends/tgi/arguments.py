"""Translates the options of a `tgi` model into the command and the environment of text-generation-launcher.

The launcher reads each argument from a variable, too: `MAX_TOTAL_TOKENS` for `--max-total-tokens`. The key
is given that way, since other users of the machine can read the arguments of a process; the launcher itself
passes it to its router as an argument all the same.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from backends.base import LoadError
from backends.catalogue import BACKENDS
from backends.shared.start import library_path
from config.settings import ROOT, ModelDefinition
from engines.nvml import runs_on_cpu

PREFIX = "tgi_"
PROGRAM = "text-generation-launcher"
NO_PROGRAM = (
    "there is no program {program}: set tgi_binary to TGI's launcher, or run TGI's container image and use"
    " the backend openai_remote with its URL"
)

BASE_MODEL = "tgi"
"""The name of the model without an adapter; TGI takes any other name for that of an adapter."""

PAYLOAD_BYTES = 64 << 20
"""The longest body that the server accepts; its default of 2 MB is less than a long conversation has."""

MAX_STOPS = 64
"""Stop texts of one request, as many as the API accepts; TGI's default is 4."""

MORE_REQUESTS = 128
"""Requests that the server accepts beyond the slots: it learns a little late that one was cancelled, and
would refuse the next one as one too many."""

LONGEST_SOCKET_PATH = 100  # bytes of the path of a Unix socket, without its number
GRACE_S = "2"  # from SIGTERM on: running requests are lost in any case

LOG_LEVEL = "warn,text_generation_router_v3=info"
"""At `info` the launcher logs its arguments with the key, and the router the stop texts and tool calls of
requests. The lines of the third version's backend have the size of the cache."""

MANAGED_FLAGS = (
    *("--hostname", "--port", "-p", "--api-key", "--model-id", "--prometheus-port", "--master-port"),
    *("--shard-uds-path", "--max-concurrent-requests", "--max-stop-sequences", "--payload-limit"),
    *("--usage-stats", "--lora-adapters"),
)
UNSAFE_FLAGS = ("--ngrok", "--ngrok-authtoken", "--ngrok-edge", "--cors-allow-origin", "--env", "-e")
"""Flags that `extra_args` may not contain: `MANAGED_FLAGS` are set by the adapter; `UNSAFE_FLAGS` would open
the server to others, or log its environment."""

FORCED_VARIABLES = {
    "PREFIX_CACHING": "0",  # TGI's cache of prefixes knows no namespaces: tenants would share it
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "GRACEFUL_TERMINATION_TIMEOUT": GRACE_S,
}
HUB_VARIABLES = (
    *("HF_TOKEN", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
)
"""Variables that only models from a hub inherit: local models make no network requests."""

PASSED_PREFIXES = (
    *("HF_", "HUGGINGFACE_", "NCCL_", "TORCH", "TRITON_", "FLASHINFER_"),
    *("XDG_CACHE_HOME", "CUDA_HOME", "VIRTUAL_ENV"),
)
"""Prefixes of the worker's variables that TGI inherits, besides those that every engine inherits."""

MANAGED_VARIABLES = ("API_KEY", "PREFIX_CACHING", "HOSTNAME", "PORT", "NGROK", "USAGE_STATS")
"""Variables that `environment` may not contain."""


@dataclass(frozen=True)
class TgiOptions:
    """The parsed options of a `tgi` model.

    `environment` does not contain the API key. `port` and `api_key` None stand for a free and a random one.
    `loras` are the folders of the LoRA adapters by name.
    """

    program: Path
    model: str
    flags: tuple[str, ...]
    environment: Mapping[str, str]
    loras: Mapping[str, str]
    slots: int
    host: str
    port: int | None
    api_key: str | None

    @classmethod
    def of(cls, model: ModelDefinition, slots: int) -> TgiOptions:
        """Parse a model's options, and find its program and files. Raises `LoadError` (load_failed)."""
        given = BACKENDS["tgi"].values(model.options)
        program, path = _program(given["binary"] or PROGRAM), _model(model.model_path)
        for argument in given["extra_args"]:
            flag = _flag(argument)
            if flag in MANAGED_FLAGS + UNSAFE_FLAGS:
                raise refused(f"tgi_extra_args may not contain {flag}")
        on_cpu = runs_on_cpu(model.device)
        return cls(
            program=program,
            model=path,
            flags=(*_flags(given), *given["extra_args"]),
            environment=_environment(program, path, given, on_cpu=on_cpu),
            loras=_loras(given["lora"]),
            slots=slots,
            host=_host(given["host"]),
            port=given["port"],
            api_key=given["api_key"],
        )

    def argv(self, port: int, metrics_port: int, master_port: int, sockets: Path) -> list[str]:
        """Return the command of a server on that port.

        The other ports are those of the metrics and of the processes that share a model; `sockets` begins the
        paths of the sockets of these processes.
        """
        loras = ",".join(f"{name}={folder}" for name, folder in self.loras.items())
        return [
            *(str(self.program), "--model-id", self.model, "--hostname", self.host, "--port", str(port)),
            *("--prometheus-port", str(metrics_port), "--master-port", str(master_port)),
            *("--shard-uds-path", str(sockets), "--usage-stats", "off"),
            *("--max-concurrent-requests", str(self.slots + MORE_REQUESTS)),
            *("--max-stop-sequences", str(MAX_STOPS), "--payload-limit", str(PAYLOAD_BYTES)),
            *(("--lora-adapters", loras) if loras else ()),
            *self.flags,
        ]


def refused(sentence: str) -> LoadError:
    """Return the error for options that cannot be used."""
    return LoadError("load_failed", sentence)


def _flag(argument: str) -> str:
    """The flag in an argument; a short one may have its value behind it (`-p3000`)."""
    return argument.partition("=")[0] if argument.startswith("--") else argument[:2]


def socket_path(directory: Path) -> Path:
    """Return how the paths of the sockets begin: in the engine's folder, unless that makes them too long."""
    path = directory / "shard"
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
        return path
    return Path(tempfile.gettempdir()) / f"stoker-tgi-{token_hex(8)}"


def _program(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        raise refused(NO_PROGRAM.format(program=name))
    return Path(found).absolute()


def _model(value: str | None) -> str:
    if value is None:
        raise refused("set model_path to a model's folder or a hub's id")
    path = Path(value)
    if path.is_absolute() and not path.exists():
        raise refused(f"{path} does not exist: put the model there, or correct model_path")
    if path.is_absolute() and not (path / "config.json").is_file():
        raise refused(
            f"{path} has no config.json: set model_path to a model's folder in Hugging Face's format"
        )
    return value


def _host(host: str) -> str:
    """Return the address. TGI takes a name for an error, and listens on all addresses instead."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        raise refused(f"tgi_host must be an IP address like 127.0.0.1, not {host}") from None


def _loras(given: Mapping[str, str] | None) -> dict[str, str]:
    """Return the folders of the LoRA adapters by name. Raises `LoadError` (load_failed)."""
    loras = {name: str(ROOT / Path(path).expanduser()) for name, path in sorted((given or {}).items())}
    for name, folder in loras.items():
        if name == BASE_MODEL:
            raise refused(f"tgi_lora may not name an adapter {BASE_MODEL}: that is the model itself")
        if any(mark in folder for mark in ",=@"):
            raise refused(f"the folder of tgi_lora.{name} may not contain the characters , = @")
        if not (Path(folder) / "adapter_config.json").is_file():
            raise refused(
                f"{folder} has no adapter_config.json: put the adapter there, or correct tgi_lora.{name}"
            )
    return loras


def _flags(given: Mapping[str, Any]) -> list[str]:
    """The flags of the options; those that are null are left out."""
    context = given["max_total_tokens"]
    named = {
        "--max-total-tokens": context,
        "--max-input-tokens": None if context is None else context - 1,
        "--dtype": given["dtype"],
        "--quantize": given["quantize"],
        "--kv-cache-dtype": given["kv_cache_dtype"],
        "--cuda-memory-fraction": given["cuda_memory_fraction"],
        "--num-shard": given["num_shard"],
    }
    flags = [text for name, value in named.items() if value is not None for text in (name, str(value))]
    return [*flags, "--trust-remote-code"] if given["trust_remote_code"] else flags


def _environment(program: Path, model: str, given: Mapping[str, Any], *, on_cpu: bool) -> dict[str, str]:
    passed = {name: value for name, value in os.environ.items() if name.startswith(PASSED_PREFIXES)}
    passed.pop("HF_TOKEN", None)
    if Path(model).is_absolute():
        passed |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    else:
        passed |= {name: os.environ[name] for name in HUB_VARIABLES if name in os.environ}
    if on_cpu:
        passed["CUDA_VISIBLE_DEVICES"] = ""  # a worker without a GPU must not use one
    if (libraries := given["library_path"]) is not None:
        folder = ROOT / Path(libraries).expanduser()
        if not folder.is_dir():
            raise refused(f"{folder} is not a folder: correct tgi_library_path")
        passed |= library_path(folder)
    # the launcher starts text-generation-server and text-generation-router, which are beside it
    path = os.pathsep.join(filter(None, [str(program.parent), os.environ.get("PATH")]))
    own: dict[str, str] = {}
    for name, value in (given["environment"] or {}).items():
        if name in MANAGED_VARIABLES:
            raise refused(f"tgi_environment may not contain {name}")
        if not isinstance(value, str):
            raise refused(f"{name} in tgi_environment must be a string")
        own[name] = value
    return {"LOG_LEVEL": LOG_LEVEL, "PATH": path, **passed, **own, **FORCED_VARIABLES}
