"""text-generation-inference (TGI) 3.3 as a managed server, by default on the loopback interface.

TGI is frozen: it is in maintenance mode since 11 December 2025, its last release is 3.3.7, and its repository
was archived on 21 March 2026, as reported. The program is the user's; `openai_remote` is for a TGI that runs
already.

- `arguments`: the options as the launcher's command and environment
- `request_body`: requests in TGI's form
- `tgi_engine`: the requests to the server
- `errors`, `metrics`, `diagnosis`: what the server says
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from backends.base import EngineFacts, Launch, LoadError
from backends.shared.engine.facts import quantization_of
from backends.shared.http_engine import ServerClient, ServerProtocol
from backends.shared.server_address import server_address
from backends.shared.start import EngineStart, starting
from backends.shared.template_probes import RolesByTools, probed_roles
from backends.shared.tgi_server import TgiInfo, tgi_info
from backends.tgi.arguments import BASE_MODEL, PREFIX, TgiOptions, socket_path
from backends.tgi.diagnosis import diagnosing
from backends.tgi.errors import server_error, stream_error
from backends.tgi.metrics import cache_tokens
from backends.tgi.request_body import tgi_body
from backends.tgi.tgi_engine import CHAT_COUNT_PATH, COUNT_PATH, TgiEngine, is_healthy
from config.ports import free_port
from config.settings import ModelDefinition
from engines.engine_process.process import EngineProcess
from generation.generation import Generation
from http_client.client import HttpError

TICK_S = 0.1
PROBE = orjson.dumps({"inputs": "a"})


class TgiAdapter:
    """Fulfils `Adapter`."""

    name = "tgi"

    def check(self, model: ModelDefinition, slots: int, environments: Path) -> None:  # noqa: ARG002
        """Check the options, the program and the files. Raises `LoadError`."""
        TgiOptions.of(model, slots)

    def start(self, launch: Launch) -> TgiEngine:
        """Start `text-generation-launcher` and connect to its router."""
        with starting(launch) as start:
            options = TgiOptions.of(launch.model, launch.slots)
            start.progress(0.1, "loading the model")
            with diagnosing(launch.directory):
                process, client = _start_server(start, options)
            info = _verify(start, process, client)
            body = partial(
                _body,
                prompt_format=launch.model.prompt_format,
                loras=options.loras,
                roles=probed_roles(partial(_rendered_by, client)),
            )
            engine = TgiEngine(
                process,
                client,
                ServerProtocol(body, server_error, stream_error),
                launch.slots,
                info.context,
                cache_tokens(launch.directory),
            )
            engine.facts = EngineFacts(info.version, _quantization(launch.model, options.model, info))
            return engine


def _body(generation: Generation, prompt_format: str, loras: Mapping[str, str], roles: RolesByTools) -> bytes:
    return orjson.dumps(tgi_body(generation, prompt_format, loras, roles))


def _start_server(start: EngineStart, options: TgiOptions) -> tuple[EngineProcess, ServerClient]:
    """Start a server and wait until its model is loaded: only then its router listens."""
    same_port = start.launch.same_port
    address = server_address(PREFIX, options.host, options.port, options.api_key, same_port=same_port)
    client = ServerClient(address)
    metrics_port = free_port(options.host, 0, (address.port,))
    master_port = free_port(options.host, 0, (address.port, metrics_port))
    argv = options.argv(address.port, metrics_port, master_port, socket_path(start.launch.directory))
    process = start.run(argv, {**options.environment, "API_KEY": client.key})
    while not is_healthy(client):
        process.wait(TICK_S)
        start.check()
    return process, client


def _verify(start: EngineStart, process: EngineProcess, client: ServerClient) -> TgiInfo:
    """Check that the server is the one just started, and that it requires the key where TGI does.

    The key guards the requests for answers and `/tokenize`; `/info` and `/metrics` are open. Raises
    `LoadError`.
    """
    start.progress(0.98, "checking the engine")
    try:
        unauthorized, _ = client.post(COUNT_PATH, PROBE, with_key=False)
        status, _ = client.post(COUNT_PATH, PROBE)
        info = tgi_info(client.get("/info")[1])
    except HttpError as error:
        raise start.failed(process) from error
    if info is None or status != 200:
        raise LoadError("load_failed", "another server answers on the engine's port")
    if unauthorized != 401:
        raise LoadError("load_failed", "the engine does not require its key")
    return info


def _rendered_by(client: ServerClient, body: dict[str, Any]) -> str:
    """The prompt of a body. Raises `HttpError` and `LookupError`."""
    asked = orjson.dumps({"model": BASE_MODEL, **body})
    return str(client.post(CHAT_COUNT_PATH, asked)[1]["templated_text"])


def _quantization(model: ModelDefinition, path: str, info: TgiInfo) -> str | None:
    """The type of the weights: of the option, else by the model's config.json; None for a hub's model."""
    if (method := model.options.get("tgi_quantize")) is not None:
        return str(method)
    try:
        config = orjson.loads((Path(path) / "config.json").read_bytes())
        return quantization_of(config, model.options.get("tgi_dtype") or info.dtype)
    except (OSError, ValueError):
        return quantization_of({}, model.options.get("tgi_dtype") or info.dtype)


ADAPTER = TgiAdapter()
