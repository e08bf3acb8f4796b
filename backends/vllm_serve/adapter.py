"""vLLM as a managed server: `vllm serve`, by default on the loopback interface and with a random API key.

It is used like any other server (see `http_engine`), with one difference: the server may outlive its core
process by seconds, and a server without a core counts as lost.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from backends.base import EngineFacts, Finish, GenerationError, Launch, LoadError
from backends.catalogue import BACKENDS
from backends.shared.engine.facts import capacity_facts
from backends.shared.http_engine import (
    LONGEST_BODY,
    HttpEngine,
    RunningRequest,
    ServerClient,
    ServerProtocol,
    malformed_answer,
)
from backends.shared.server_address import server_address
from backends.shared.start import EngineStart, starting
from backends.shared.template_probes import UNKNOWN_ROLES, RolesByTools, fit_messages, probed_roles
from backends.vllm.diagnosis import diagnosing
from backends.vllm.engine.cache_reset import CacheReset
from backends.vllm.facts import cache_tokens, cache_use, kv_cache_mib, quantization
from backends.vllm.progress import reporting_progress
from backends.vllm.request_body import vllm_body
from backends.vllm_serve.arguments import PREFIX, VllmServeOptions
from config.settings import ModelDefinition
from engines.engine_process.process import EngineProcess
from fleet.flush import FlushCount
from generation.generation import Generation
from http_client.client import HttpError

TICK_S = 0.1
CONTINUATION_FIELDS = ("continue_final_message", "add_generation_prompt")
METRICS_PATH = "/metrics"
RESET_PATH = "/stoker/reset_prefix_cache"
RESET_TIMEOUT_S = 10.0
COUNT_TIMEOUT_S = 0.5  # to count the tokens of a cancelled request's prompt

PROMPT_TOO_LONG = re.compile(
    r"context length is (?P<fit>\d+) tokens"
    r".*?contains (?P<least>at least )?(?P<size>\d+) (?P<what>input tokens|characters)"
    r"|prompt \(length (?P<length>\d+)\).*? model length of (?P<limit>\d+)",
    re.DOTALL,
)

NO_LORAS: Mapping[str, str] = {}

log = logging.getLogger(__name__)


class VllmServeAdapter:
    """Fulfils `Adapter`."""

    name = "vllm_serve"

    def check(self, model: ModelDefinition, slots: int, environments: Path) -> None:
        """Check the options, the files and the program. Raises `LoadError`."""
        VllmServeOptions.of(model, slots, environments)

    def start(self, launch: Launch) -> VllmServeEngine:
        """Start `vllm serve` and connect to it."""
        with starting(launch) as start:
            options = VllmServeOptions.of(launch.model, launch.slots, launch.environments)
            with diagnosing(launch.directory), reporting_progress(start):
                process, client = _start_server(start, options)
            context, version = _verify(start, process, client, options.served)
            body = partial(
                _body,
                prompt_format=launch.model.prompt_format,
                tool_parser=options.vllm.tool_parser,
                served=options.served,
                context=context,
                roles=probed_roles(partial(_rendered_by, client, options.served)),
                loras={name: options.served_lora(name) for name in options.vllm.loras},
            )
            protocol = ServerProtocol(
                body, _refusal, _failure, cache_path=METRICS_PATH, cache_use=cache_use, text_lags=True
            )
            engine = VllmServeEngine(process, client, protocol, launch.slots, context)
            given = options.vllm.engine
            engine.caches_prompts = BACKENDS[self.name].reuses_prefixes(launch.model.options)
            engine.facts = EngineFacts(
                version,
                quantization(given),
                kv_cache_mib(given, launch.directory),
                **capacity_facts(_cache_tokens(client) if engine.caches_prompts else None, "tokens"),
            )
            return engine


class VllmServeEngine(HttpEngine):
    """Fulfils `Engine`."""

    caches_prompts = True
    """Whether the server has a prefix cache."""

    def __init__(
        self,
        process: EngineProcess,
        client: ServerClient,
        protocol: ServerProtocol,
        slots: int,
        context: int,
    ) -> None:
        super().__init__(process, client, protocol, slots, context)
        self._cache_reset = CacheReset(self._reset_cache, lambda: not self._running)

    async def flush(self, kept: Collection[str]) -> FlushCount:
        """Reset the server's whole prefix cache if it holds other namespaces than `kept`."""
        if not self.caches_prompts:
            return FlushCount(0, 0.0)
        return FlushCount(reason=await self._cache_reset.flush(kept))

    async def _reset_cache(self) -> bool:
        """Call the endpoint of `engine/stoker_key.py`.

        Raises `HttpError`, or what an unexpected answer raises.
        """
        async with self._client.request("POST", RESET_PATH, b"", read_timeout_s=RESET_TIMEOUT_S) as response:
            return orjson.loads(await response.read(LONGEST_BODY))["reset"] is True

    def _end(self, running: RunningRequest) -> None:
        super()._end(running)
        self._cache_reset.on_end()

    async def _answer(self, running: RunningRequest) -> Finish:
        try:
            return await super()._answer(running)
        except GenerationError as error:
            if error.code == "engine_error" and not await asyncio.to_thread(_is_healthy, self._client):
                self._process.kill()
                raise await asyncio.to_thread(self._process.lost) from error
            raise

    async def _cancelled(self, running: RunningRequest) -> Finish:
        finish = await super()._cancelled(running)
        # the server reports the usage only at the end, which a cancelled request does not reach
        if finish.reason == "cancelled" and not finish.usage.input_tokens:
            counted = await self._count(self._protocol.body(running.generation))
            return replace(finish, usage=replace(finish.usage, input_tokens=counted))
        return finish

    async def count_tokens(self, generation: Generation) -> int:
        """Count the tokens of the rendered prompt. Raises `GenerationError` and `HttpError`."""
        body = _tokenize_body(self._protocol.body(generation))
        try:
            return int((await self._post_json("/tokenize", body, generation))["count"])
        except (LookupError, TypeError, ValueError) as error:
            raise malformed_answer() from error

    async def _count(self, body: bytes) -> int:
        """Count the tokens of a prompt; 0 if the server does not answer."""
        with suppress(HttpError, orjson.JSONDecodeError, LookupError, TypeError, ValueError):
            data, limit_s = _tokenize_body(body), COUNT_TIMEOUT_S
            async with self._client.request("POST", "/tokenize", data, read_timeout_s=limit_s) as response:
                return int(orjson.loads(await response.read(LONGEST_BODY))["count"])
        return 0


def _tokenize_body(body: bytes) -> bytes:
    """Return the body of POST /tokenize for that of a generation."""
    request = orjson.loads(body)
    names = ("model", "messages", "prompt", "tools", "chat_template_kwargs", *CONTINUATION_FIELDS)
    return orjson.dumps({name: request[name] for name in names if name in request})


def _rendered_by(client: ServerClient, served: str, body: dict[str, Any]) -> str:
    """The prompt of a body. Raises `HttpError` and `LookupError`."""
    tokens = client.post("/tokenize", orjson.dumps({"model": served, **body}))[1]["tokens"]
    return str(client.post("/detokenize", orjson.dumps({"model": served, "tokens": tokens}))[1]["prompt"])


def _start_server(start: EngineStart, options: VllmServeOptions) -> tuple[EngineProcess, ServerClient]:
    """Start a server and wait until it is healthy."""
    same_port = start.launch.same_port
    address = server_address(PREFIX, options.host, options.port, options.api_key, same_port=same_port)
    client = ServerClient(address)
    process = start.run(options.argv(address.port), {**options.environment, "VLLM_API_KEY": client.key})
    while not _is_healthy(client):
        process.wait(TICK_S)
        start.check()
    return process, client


def _cache_tokens(client: ServerClient) -> int | None:
    """How many tokens the server's cache has room for; None if it does not say."""
    try:
        status, metrics = client.read(METRICS_PATH)
    except HttpError:
        return None
    return cache_tokens(metrics) if status == 200 else None


def _is_healthy(client: ServerClient) -> bool:
    try:
        return client.get("/health")[0] == 200
    except HttpError:
        return False


def _verify(
    start: EngineStart, process: EngineProcess, client: ServerClient, served: str
) -> tuple[int, str | None]:
    """Check that the server is the one just started and requires the key.

    Returns (context in tokens, vLLM's version). Raises `LoadError`.
    """
    start.progress(0.98, "checking the engine")
    try:
        unauthorized, _ = client.get("/version", with_key=False)  # vLLM itself does not check the key there
        _, found = client.get("/version")
        _, models = client.get("/v1/models")
        context: Any = next(model["max_model_len"] for model in models["data"] if model["id"] == served)
    except HttpError as error:
        raise start.failed(process) from error
    except (LookupError, TypeError, StopIteration) as error:
        raise LoadError("load_failed", "another server answers on the engine's port") from error
    if unauthorized != 401:
        raise LoadError("load_failed", "the engine does not require its key")
    return int(context), found.get("version") if isinstance(found, dict) else None


def _body(  # noqa: PLR0913, PLR0917 - what the adapter knows of the server
    generation: Generation,
    prompt_format: str,
    served: str,
    context: int,
    tool_parser: str | None = None,
    loras: Mapping[str, str] = NO_LORAS,
    roles: RolesByTools = UNKNOWN_ROLES,
) -> bytes:
    """The body of a request; `loras` has the names of the LoRA adapters in the server's API."""
    if generation.lora is not None and generation.lora not in loras:  # the API may know another definition
        raise GenerationError("unsupported_parameter", "the engine has no LoRA adapter with this name")
    body = vllm_body(generation, prompt_format, tool_parser)
    fit_messages(body, roles)
    body["model"] = served if generation.lora is None else loras[generation.lora]
    if "prompt" in body:
        body.setdefault("max_tokens", context)  # the server's own default for completions is 16
    if "logprobs" in body:
        _ask_for_logprobs(body)
    if "max_tokens" in body:
        body["max_tokens"] = min(body["max_tokens"], context)  # vLLM refuses larger values
    return orjson.dumps(body)


def _ask_for_logprobs(body: dict[str, Any]) -> None:
    """Change the fields of log probabilities to those of the server's API.

    Of the likeliest tokens a chat completion has one more than the request: the server counts the chosen
    token among them even if it is none. A completion's `logprobs` is their number.
    """
    if "prompt" in body:
        body["logprobs"] = body.pop("top_logprobs")
    elif body["top_logprobs"]:
        body["top_logprobs"] += 1


def _refusal(status: int, body: bytes, _generation: Generation) -> GenerationError:
    """Return the error for a status other than 200."""
    try:
        message = str(orjson.loads(body)["error"]["message"])
    except (orjson.JSONDecodeError, LookupError, TypeError):
        message = ""
    return _error(status, message)


def _failure(error: Any) -> GenerationError:
    """Return the error for an error in a stream: some occur late, such as a schema without a grammar."""
    status, message = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, error)
    return _error(status if isinstance(status, int) else 500, str(message))


def _error(status: int, message: str) -> GenerationError:
    """Return the error for a status and the server's message, which may quote the request."""
    log.info("vllm serve answered %d", status)
    if status < 500 and (found := PROMPT_TOO_LONG.search(message)):
        unit = "characters" if found["what"] == "characters" else "tokens"
        size = f"{found['least'] or ''}{found['size'] or found['length']} {unit}"
        fit = int(found["fit"] or found["limit"]) - 1  # one token is needed for the answer
        sentence = f"the prompt has {size}; {fit} tokens fit"
        return GenerationError("context_length_exceeded", sentence)
    if status < 500:
        return GenerationError("invalid_prompt", "the engine rejects these messages or their sampling")
    return GenerationError("engine_error", "the engine failed")


ADAPTER = VllmServeAdapter()
