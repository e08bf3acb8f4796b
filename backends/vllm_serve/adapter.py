"""vLLM as a managed server: `vllm serve` on the loopback interface, behind a random key.

It is spoken to as any server is (see `http_engine`), with one difference: the server may outlive its engine's
core by seconds, and a server without a core counts as lost. The options are in `vllm_serve_options`.
"""

from __future__ import annotations

import logging
import re
import secrets
import socket
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import orjson
from urllib3.exceptions import HTTPError

from backends.base import Emit, Finish, GenerationError, Launch, LoadError
from backends.shared.http_client import LOOPBACK, HttpCall
from backends.shared.http_engine import HttpEngine, LoopbackClient, ServerProtocol
from backends.shared.start import Start, starting
from backends.vllm.diagnosis import explained
from backends.vllm.progress import following
from backends.vllm.request import vllm_body
from backends.vllm_serve.arguments import VllmServeOptions
from tasks.generation import Generation
from workers.engine_process.process import EngineProcess

TICK_S = 0.1
COUNT_S = 0.5  # how long a cancelled request may wait for the size of its prompt

TOO_LONG = re.compile(
    r"context length is (?P<fit>\d+) tokens"
    r".*?contains (?P<least>at least )?(?P<size>\d+) (?P<what>input tokens|characters)"
    r"|prompt \(length (?P<length>\d+)\).*? model length of (?P<room>\d+)",
    re.DOTALL,
)

log = logging.getLogger(__name__)


class VllmServeAdapter:
    """Fulfils `Adapter`."""

    name = "vllm_serve"

    def start(self, launch: Launch) -> VllmServeEngine:
        """See `Adapter.start`."""
        with starting(launch) as start:
            options = VllmServeOptions.of(launch.model, launch.slots, launch.environments)
            with explained(launch.directory), following(start):
                process, client = _begin(start, options)
            context = _introduce(start, process, client, options.served)
            body = partial(
                _body, prompt_format=launch.model.prompt_format, served=options.served, context=context
            )
            protocol = ServerProtocol(body, _refusal, _failure)
            return VllmServeEngine(process, client, protocol, launch.slots, context)


class VllmServeEngine(HttpEngine):
    """Fulfils `Engine`."""

    def generate(self, id: str, generation: Generation, emit: Emit) -> Finish:
        """See `Engine.generate`."""
        try:
            finish = super().generate(id, generation, emit)
        except GenerationError as error:
            if error.code == "engine_error" and not _is_healthy(self._client):
                self._process.kill()
                raise self._process.lost() from error
            raise
        if finish.reason == "cancelled" and not finish.usage.input_tokens:  # it counts at the end only
            counted = self._count(self._protocol.body(generation))
            return replace(finish, usage=replace(finish.usage, input_tokens=counted))
        return finish

    def _count(self, body: bytes) -> int:
        """How many tokens a prompt has; 0 where the server cannot say."""
        asked = orjson.loads(body)
        asked = {
            name: asked[name]
            for name in ("model", "messages", "tools", "chat_template_kwargs")
            if name in asked
        }
        with suppress(HTTPError, orjson.JSONDecodeError, LookupError, TypeError, ValueError):
            response = self._client.post(HttpCall(COUNT_S), "/tokenize", orjson.dumps(asked))
            try:
                return int(orjson.loads(response.read())["count"])
            finally:
                response.close()
        return 0


def _begin(start: Start, options: VllmServeOptions) -> tuple[EngineProcess, LoopbackClient]:
    """Start a server and wait until it is healthy."""
    with socket.create_server((LOOPBACK, 0)) as probe:
        port: int = probe.getsockname()[1]
    client = LoopbackClient(port, secrets.token_urlsafe(32))
    process = start.run(options.argv(port), {**options.environment, "VLLM_API_KEY": client.key})
    while not _is_healthy(client):
        process.wait(TICK_S)
        start.check()
    return process, client


def _is_healthy(client: LoopbackClient) -> bool:
    try:
        return client.get("/health")[0] == 200
    except HTTPError:
        return False


def _introduce(start: Start, process: EngineProcess, client: LoopbackClient, served: str) -> int:
    """Make sure that it is ours and wants its key: the context of a request. Raises `LoadError`."""
    start.progress(0.98, "checking the engine")
    try:
        stranger, _ = client.get("/version", with_key=False)  # where vLLM by itself answers anybody
        _, models = client.get("/v1/models")
        context: Any = next(model["max_model_len"] for model in models["data"] if model["id"] == served)
    except HTTPError as error:
        raise start.failed(process) from error
    except (LookupError, TypeError, StopIteration) as error:
        raise LoadError("load_failed", "what answers on the engine's port is not this engine") from error
    if stranger != 401:
        raise LoadError("load_failed", "the engine does not ask for its key")
    return int(context)


def _body(generation: Generation, prompt_format: str, served: str, context: int) -> bytes:
    body = vllm_body(generation, prompt_format)
    body["model"] = served
    if "max_tokens" in body:
        body["max_tokens"] = min(body["max_tokens"], context)  # it refuses more
    return orjson.dumps(body)


def _refusal(status: int, body: bytes) -> GenerationError:
    """The error for an answer other than 200."""
    try:
        message = str(orjson.loads(body)["error"]["message"])
    except (orjson.JSONDecodeError, LookupError, TypeError):
        message = ""
    return _error(status, message)


def _failure(error: Any) -> GenerationError:
    """The error for one in a stream: some are found out late, such as a schema that makes no grammar."""
    status, message = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, error)
    return _error(status if isinstance(status, int) else 500, str(message))


def _error(status: int, message: str) -> GenerationError:
    """The server's own words go to the log only."""
    log.info("vllm serve answered %d: %.200s", status, message)
    if status < 500 and (found := TOO_LONG.search(message)):
        unit = "characters" if found["what"] == "characters" else "tokens"
        size = f"{found['least'] or ''}{found['size'] or found['length']} {unit}"
        fit = int(found["fit"] or found["room"]) - 1  # one is the answer's
        sentence = f"the prompt has {size}; {fit} tokens fit"
        return GenerationError("context_length_exceeded", sentence)
    if status < 500:
        return GenerationError("invalid_prompt", "the engine refuses these messages or their sampling")
    return GenerationError("engine_error", "the engine failed")


ADAPTER = VllmServeAdapter()
