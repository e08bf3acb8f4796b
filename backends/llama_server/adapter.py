"""llama.cpp's server as an engine: a configured native `llama-server`, or the one inside xllamacpp.

Both listen on the loopback interface only and require a random key, unless address and key are configured.
They get the key through the environment, and are used in the same way (see `http_engine`).
"""

from __future__ import annotations

import json
import logging
import os
import re
import select
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from backends.base import EngineFacts, GenerationError, Launch, LoadError, Sink
from backends.llama_server.answer_grammars import NO_GRAMMARS, AnswerGrammars, is_constrained
from backends.llama_server.arguments import PREFIX, LlamaServerOptions
from backends.llama_server.diagnosis import DIAGNOSES
from backends.llama_server.options import RANK
from backends.llama_server.slots import Slots
from backends.llama_server.vectors import VECTORS, VectorEngine
from backends.llama_server.vocabulary import UNKNOWN, read_vocabulary
from backends.shared.answer_reader import AnswerReader
from backends.shared.chat_request import add_forms, llama_body
from backends.shared.chat_stream import ChatParser
from backends.shared.diagnosis import diagnosing
from backends.shared.engine.infill import UNSUPPORTED_SUFFIX, InfillMarkers, find_infill_markers
from backends.shared.engine.literal_text import LiteralText
from backends.shared.engine.recursion import without_ambiguous_recursion
from backends.shared.engine.syntax import Syntax
from backends.shared.engine.template_refusal import LANGUAGE_FIELDS, template_refusal
from backends.shared.http_engine import (
    LONGEST_BODY,
    HttpEngine,
    RunningRequest,
    ServerClient,
    ServerProtocol,
    malformed_answer,
)
from backends.shared.llama_diagnosis import QUOTE
from backends.shared.pipe_engine import ENGINE_PROGRAM
from backends.shared.preparation import Preparations, preparation_bytes
from backends.shared.server_address import ServerAddress, server_address
from backends.shared.start import EngineStart, engine_python, library_path, starting
from backends.shared.template_probes import UNKNOWN_ROLES, RolesByTools, fit_messages, probed_roles
from config.settings import ModelDefinition
from engines.engine_process.process import EngineProcess
from fleet.artifacts.gguf_weights import parts_of
from fleet.flush import FlushCount
from generation.generation import Generation, Sampling
from generation.loose_schema import loosened
from generation.prompt_size import least_prompt_bytes
from http_client.client import HttpError

TICK_S = 0.05
TEMPLATE_PATH = "/apply-template"
LOG_WAIT_S = 10.0  # how long an engine that has failed may take to end, on a busy machine
RAISED_BY_TEMPLATE = re.compile(r"Jinja Exception: ([^\n]+)")
"""The text of `raise_exception` in the server's message."""
NO_MEMORY = "std::bad_alloc"
"""In the server's message, for an allocation that its limit does not allow."""

SEEDS = 2**32 - 1  # llama-server uses 32 bits of a seed, and takes 2**32 - 1 (also written -1) for no seed
ERASE_TIMEOUT_S = 10.0
COUNT_PATH = "/v1/chat/completions/input_tokens"
UNSIZED_CACHE = "llama-server does not report the size of its cache"
CANNOT_ERASE = "this llama-server cannot erase its slots; no later request can reach what was flushed"
LOAD_BYTES_PER_S = 1e9  # an estimate, for progress only
MAX_READ = 0.9  # the progress when the whole file is read
RCHAR = re.compile(r"rchar: (\d+)")
RSS_FILE = re.compile(r"RssFile:\s+(\d+) kB")

log = logging.getLogger(__name__)


class LlamaServerAdapter:
    """Fulfils `Adapter`."""

    name = "llama_server"

    def check(self, model: ModelDefinition, slots: int, environments: Path) -> None:
        """Check the options, the files and the environment. Raises `LoadError`."""
        if LlamaServerOptions.of(model, slots).binary is None:
            self._python(environments)

    def _python(self, environments: Path) -> Path:
        """The Python with xllamacpp. Raises `LoadError`."""
        otherwise = ", or set llama_server_binary to a llama-server"
        return engine_python(environments, self.name, otherwise=otherwise)

    def start(self, launch: Launch) -> HttpEngine:
        """Start llama-server, or its engine from the xllamacpp wheel, and connect to it."""
        with starting(launch) as start:
            options = LlamaServerOptions.of(launch.model, launch.slots)
            address = server_address(
                *(PREFIX, options.host, options.port, options.api_key),
                chooses_port=options.binary is None,
                same_port=launch.same_port,
            )
            env = _environment(options, address.key)
            with diagnosing(launch.directory, DIAGNOSES, QUOTE):
                if options.binary is None:
                    python = self._python(launch.environments)
                    process, report = _start_packaged(start, options, env, str(python))
                    address, version = replace(address, port=report["port"]), report.get("version")
                else:
                    process, version = _start_native(start, options, address, env), None
            client = ServerClient(address)
            slots, context, facts = _verify(start, process, client)
            facts = replace(facts, version=version or facts.version)
            if options.pooling is not None:
                context = min(context, options.batch or context)  # its slots share a cache
                vectors = VectorEngine(process, client, VECTORS, slots, context)
                vectors.facts, vectors.scores = facts, options.pooling == RANK
                vectors.check(start)
                return vectors
            grammars = AnswerGrammars.of(client, launch.model.prompt_format)
            prompt_format = launch.model.prompt_format
            vocabulary = read_vocabulary(options.model)
            body = partial(
                _body,
                prompt_format=prompt_format,
                grammars=grammars,
                context=context,
                loras=tuple(options.lora),
                roles=probed_roles(partial(_rendered_by, client)),
                literal_text=vocabulary.literal_text,
            )
            protocol = ServerProtocol(body, _refusal, cache_path="/slots", cache_use=_cache_use)
            engine = LlamaServerEngine(process, client, protocol, slots, context)
            engine.syntax, engine.vocabulary = grammars.syntax, vocabulary
            engine.caches_prompts = options.cache_prompt
            engine.facts = replace(facts, longest_token=vocabulary.longest)
            return engine


class LlamaServerEngine(HttpEngine):
    """Fulfils `Engine`. Chooses the slot of each request (`backends.llama_server.slots`)."""

    caches_prompts = True
    """Whether a slot continues the prompt of its last request."""

    syntax = Syntax()
    """The syntax of the model's answers."""

    vocabulary = UNKNOWN
    """What is known of the model's tokens."""

    def __init__(
        self,
        process: EngineProcess,
        client: ServerClient,
        protocol: ServerProtocol,
        slots: int,
        context: int,
    ) -> None:
        super().__init__(process, client, protocol, slots, context)
        self._slots = Slots(slots, self._erase)
        self._preparations = Preparations()
        self._infill: tuple[InfillMarkers | None] | None = None  # None: the server was not asked yet

    def _new(self, id: str, generation: Generation, sink: Sink) -> RunningRequest:
        running = super()._new(id, generation, sink)
        if is_constrained(generation, self.syntax):
            running.reader = AnswerReader(
                sink.delta,
                self.syntax,
                tools=generation.tool_choice != "none" and bool(generation.tools),
                single_call=not generation.parallel_tool_calls,
                json_text=generation.output_format is not None,
            )
        return running

    async def flush(self, kept: Collection[str]) -> FlushCount:
        """Erase the slots that other namespaces have used. An entry is a slot with tokens."""
        erased = await self._slots.flush(kept)
        return FlushCount(erased, None, CANNOT_ERASE if erased is None else UNSIZED_CACHE)

    async def count_tokens(self, generation: Generation) -> int:
        """Count the tokens of the rendered prompt. Raises `GenerationError` and `HttpError`."""
        self._check_size(generation)
        async with self._prepared(generation):
            return await self._count(generation)

    def _check_size(self, generation: Generation) -> None:
        """Raise `GenerationError` for a prompt that cannot fit: rendering and tokenizing it costs much."""
        if self.vocabulary.longest is not None:
            least = least_prompt_bytes(generation) // self.vocabulary.longest
            if least >= self.context:
                sentence = f"the prompt has at least {least} tokens; {self.context - 1} fit"
                raise GenerationError("context_length_exceeded", sentence)

    def _prepared(self, generation: Generation) -> AbstractAsyncContextManager[Callable[[], None]]:
        owner = generation.cache_owner
        return self._preparations.hold("" if owner is None else owner.tenant, preparation_bytes(generation))

    async def _count(self, generation: Generation) -> int:
        generation = await self._rendered(generation)
        body = self._protocol.body(generation)
        try:
            if generation.prompt is not None:
                text = generation.prompt
                request = orjson.dumps({"content": text, "add_special": True, "parse_special": True})
                return len((await self._post_json("/tokenize", request, generation))["tokens"])
            return int((await self._post_json(COUNT_PATH, body, generation))["input_tokens"])
        except (LookupError, TypeError, ValueError) as error:
            raise malformed_answer() from error

    async def _erase(self, slot: int) -> int | None:
        """Erase the tokens of a slot, which waits for the end of its request. None if the server refuses."""
        path = f"/slots/{slot}?action=erase"
        try:
            async with self._client.request("POST", path, b"{}", read_timeout_s=ERASE_TIMEOUT_S) as response:
                body = await response.read(LONGEST_BODY)
                if response.status == 200:
                    return int(orjson.loads(body)["n_erased"])
            log.warning("llama-server did not erase a slot: status %d, %.200r", response.status, body)
        except (HttpError, orjson.JSONDecodeError, LookupError, TypeError, ValueError) as error:
            log.warning("llama-server did not erase a slot: %s", error)
        return None

    async def _rendered(self, generation: Generation) -> Generation:
        """The generation with a prompt: of a text with a gap, or of a last message that the answer continues.

        The server's own continuation puts an empty block of reasoning before the text. With tools or images
        it is used even so: no answer to a prompt has calls, and no template renders images here.
        """
        if generation.suffix is not None:
            return await self._with_gap(generation, generation.suffix)
        last = generation.messages[-1] if generation.continue_last else None
        if last is None or generation.tools or any(message.images for message in generation.messages):
            return generation
        before = replace(generation, messages=generation.messages[:-1], continue_last=False)
        made = await self._post_json(TEMPLATE_PATH, self._protocol.body(before), generation)
        try:
            text = self.vocabulary.literal_text.marked_text(last.text)
            prompt = self.syntax.continued(str(made["prompt"]), text)
        except (LookupError, TypeError) as error:
            raise malformed_answer() from error
        plain: dict[str, Any] = {"messages": (), "continue_last": False, "thinking": "default"}
        return replace(generation, prompt=prompt, thinking_budget=None, reasoning_effort=None, **plain)

    async def _with_gap(self, generation: Generation, behind: str) -> Generation:
        """The generation with the prompt of a text with a gap. Raises `GenerationError`."""
        if self._infill is None:
            self._infill = (await find_infill_markers(partial(self._is_token, generation)),)
        (markers,) = self._infill
        if markers is None:
            raise GenerationError("unsupported_parameter", UNSUPPORTED_SUFFIX)
        return replace(generation, prompt=markers.prompt(generation.prompt or "", behind), suffix=None)

    async def _is_token(self, generation: Generation, text: str) -> bool:
        """Whether a text is one token of the model."""
        request = orjson.dumps({"content": text, "add_special": False, "parse_special": True})
        try:
            return len((await self._post_json("/tokenize", request, generation))["tokens"]) == 1
        except (LookupError, TypeError) as error:
            raise malformed_answer() from error

    async def _stream(self, generation: Generation, parser: ChatParser) -> None:
        self._check_size(generation)
        async with self._prepared(generation) as on_head:
            await self._stream_prepared(await self._rendered(generation), parser, on_head)

    async def _stream_prepared(
        self, generation: Generation, parser: ChatParser, on_head: Callable[[], None]
    ) -> None:
        body = self._protocol.body(generation)
        namespace = generation.shared_namespace if self.caches_prompts else None
        erase = self.caches_prompts and namespace is None  # it shares nothing: it leaves nothing, either
        async with self._slots.use(namespace, body, erase=erase) as use:  # a body begins with the messages
            choice = b',"id_slot":%d,"cache_prompt":%s}' % (use.slot.id, b"true" if use.reuse else b"false")
            try:
                await self._post(body[:-1] + choice, generation, parser, on_head)
            finally:
                use.replaced = parser.reason is not None or parser.usage.output_tokens > 0


def _environment(options: LlamaServerOptions, key: str) -> dict[str, str]:
    folders = [] if options.library_path is None else [options.library_path]
    variables = {**library_path(*folders), **options.environment, "LLAMA_API_KEY": key}
    # the server would keep the prompts of all slots in memory, and reuse them for any request; a variable,
    # because older servers refuse a flag that they do not know
    return {**variables, "LLAMA_ARG_CACHE_RAM": "0"}


def _start_native(
    start: EngineStart, options: LlamaServerOptions, address: ServerAddress, env: dict[str, str]
) -> EngineProcess:
    """Start the configured binary and wait until it is healthy."""
    process = start.run(options.argv(address.port), env, memory_limit_mib=options.memory_limit_mib)
    progress = _ReadProgress(start, options.model, process.pid)
    while not _is_healthy(ServerClient(address)):
        progress.report()
        process.wait(TICK_S)
        start.check()
    return process


def _is_healthy(client: ServerClient) -> bool:
    try:
        return client.get("/health", with_key=False)[0] == 200
    except HttpError:
        return False


def _start_packaged(
    start: EngineStart, options: LlamaServerOptions, env: dict[str, str], python: str
) -> tuple[EngineProcess, dict[str, Any]]:
    """Start the engine inside xllamacpp and wait for its report. Returns its process and the report.

    The report has its `port`, which it chooses itself unless one is configured, and the `version`.
    """
    report, report_end = os.pipe()
    with os.fdopen(report, "rb", buffering=0) as reading:
        try:
            argv = [python, "-I", str(ENGINE_PROGRAM), "llama_server", str(report_end)]
            argv += [json.dumps(options.for_engine())]
            limit = options.memory_limit_mib
            process = start.run(argv, env, (report_end,), memory_limit_mib=limit)
        finally:
            os.close(report_end)
        progress = _ReadProgress(start, options.model, process.pid)
        poll = select.poll()
        poll.register(reading, select.POLLIN)
        while not poll.poll(TICK_S * 1000):
            progress.report()
            start.check(lambda: bool(poll.poll(0)))
        line = reading.readline()
    message = orjson.loads(line) if line.endswith(b"\n") else {}
    if "port" not in message:
        process.wait(LOG_WAIT_S)  # llama.cpp writes its log in a thread, which ends with the process
        raise start.failed(process, message.get("failed"))
    return process, message


class _ReadProgress:
    """Reports the share of the model's file that the server has read: it reports no progress itself.

    These are the bytes that its process has read, or the pages of mapped files that it holds. Where the
    kernel does not tell them, the time is used: half of the rest passes in each expected duration.
    """

    def __init__(self, start: EngineStart, model: Path, pid: int) -> None:
        self._start = start
        self._process = Path(f"/proc/{pid}")
        self._size = sum(part.stat().st_size for part in parts_of(model))
        self._began = time.monotonic()
        self._before: int | None = None

    def report(self) -> None:
        """Report progress."""
        read = _bytes_read(self._process)
        if read is None:
            passed = (time.monotonic() - self._began) / (0.2 + self._size / LOAD_BYTES_PER_S)
            done = 1 - 0.5**passed
        else:
            self._before = read if self._before is None else self._before
            done = MAX_READ * min(1.0, (read - self._before) / self._size)
        self._start.progress(done, "loading the model")


def _bytes_read(process: Path) -> int | None:
    """Bytes that a process has read from files or holds of mapped ones; None if that is unknown."""
    try:
        counters = (process / "io").read_text(), (process / "status").read_text()
        read, mapped = RCHAR.search(counters[0]), RSS_FILE.search(counters[1])
    except OSError:
        return None
    return max(int(read[1]), 1024 * int(mapped[1])) if read and mapped else None


def _verify(start: EngineStart, process: EngineProcess, client: ServerClient) -> tuple[int, int, EngineFacts]:
    """Check that the server is the one just started and requires the key.

    Returns (slots, context of a slot, what it reports about itself). Raises `LoadError`.
    """
    start.progress(0.95, "checking the engine")
    try:
        unauthorized, _ = client.get("/props", with_key=False)
        _, properties = client.get("/props")
        slots, context = properties["total_slots"], properties["default_generation_settings"]["n_ctx"]
    except HttpError as error:
        raise start.failed(process) from error
    except (LookupError, TypeError) as error:
        raise LoadError("load_failed", "another server answers on the engine's port") from error
    if unauthorized != 401:
        raise LoadError("load_failed", "the engine does not require its key")
    kind, build = str(properties.get("model_ftype") or ""), properties.get("build_info")
    return slots, context, EngineFacts(build, kind.removeprefix("(guessed) ") or None)


def _rendered_by(client: ServerClient, body: dict[str, Any]) -> str:
    """The prompt of a body. Raises `HttpError` and `LookupError`."""
    return str(client.post(TEMPLATE_PATH, orjson.dumps(body))[1]["prompt"])


def _cache_use(answer: bytes) -> float | None:
    """The share of the cache that holds tokens, of running requests and of ended ones."""
    slots = orjson.loads(answer)
    return float(sum(slot.get("n_prompt_tokens", 0) for slot in slots) / sum(slot["n_ctx"] for slot in slots))


def _as_json(arguments: str) -> str:
    """Return a call's arguments as valid JSON: incomplete ones, which the server refuses, as a string."""
    try:
        orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return orjson.dumps(arguments).decode() if arguments else "{}"
    return arguments


def _body(  # noqa: PLR0913, PLR0917 - what the adapter knows of the server
    generation: Generation,
    prompt_format: str,
    grammars: AnswerGrammars = NO_GRAMMARS,
    context: int = 0,
    loras: Sequence[str] = (),
    roles: RolesByTools = UNKNOWN_ROLES,
    *,
    literal_text: LiteralText = UNKNOWN.literal_text,
) -> bytes:
    body = llama_body(generation, prompt_format) | _sampling(generation.sampling, context)
    fit_messages(body, roles)
    if loras or generation.lora is not None:
        body["lora"] = _scales(loras, generation.lora)
    if generation.thinking_budget is not None:
        body["thinking_budget_tokens"] = generation.thinking_budget
    if "seed" in body:
        body["seed"] %= SEEDS
    for message in body.get("messages", ()):
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = _as_json(call["function"]["arguments"])
    if is_constrained(generation, grammars.syntax):
        add_forms(body)
        grammars.apply(body, generation.thinking)
    else:
        for tool in body.get("tools", ()):
            function = tool["function"]  # the server makes a grammar of the schema that it shows to the model
            function["parameters"] = without_ambiguous_recursion(loosened(function["parameters"]))
    body["return_progress"] = True  # reports the size of the prompt even of cancelled requests
    return orjson.dumps(literal_text.marked(body))


def _sampling(sampling: Sampling, context: int) -> dict[str, Any]:
    """The fields of a request for the sampling that OpenAI's API does not name, or names otherwise.

    The penalties count all tokens of the request, as OpenAI's do; the server's default counts the last 64.
    """
    named = {
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
        "repeat_penalty": sampling.repetition_penalty,
    }
    body: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    if any(name.endswith("penalty") for name in body):
        body["repeat_last_n"] = context
    if sampling.logit_bias:
        body["logit_bias"] = [list(pair) for pair in sampling.logit_bias]
    if sampling.top_logprobs is not None:  # of 0 alternatives the server reports no token, either
        alternatives = max(1, sampling.top_logprobs)
        body |= {"logprobs": True, "top_logprobs": alternatives, "n_probs": alternatives}
    return body


def _scales(loras: Sequence[str], name: str | None) -> list[dict[str, float]]:
    """The scale of each LoRA adapter of the server: 1 for the one of that name. Raises `GenerationError`."""
    if name is not None and name not in loras:  # the API refuses it, but may have another configuration
        raise GenerationError("unsupported_parameter", f"the engine has no LoRA adapter {name}")
    return [{"id": number, "scale": float(lora == name)} for number, lora in enumerate(loras)]


def _refusal(status: int, body: bytes, generation: Generation) -> GenerationError:
    """Return the error for a status other than 200.

    Of a request that the chat template refuses, the message has the reason that the template gives.
    """
    try:
        error = orjson.loads(body)["error"]
        kind, size, limit = error.get("type"), error.get("n_prompt_tokens"), error.get("n_ctx")
        message = str(error.get("message"))  # not for the log: it may quote the request
        log.info("llama-server answered %d %s", status, kind)
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
        kind, size, limit, message = None, None, None, ""
    if kind == "exceed_context_size_error":
        fit = limit - 1 if isinstance(limit, int) else limit  # one token is needed for the answer
        return GenerationError("context_length_exceeded", f"the prompt has {size} tokens; {fit} fit")
    if NO_MEMORY in message:
        return GenerationError("engine_error", "the engine has no memory left for this request")
    if found := RAISED_BY_TEMPLATE.search(message):
        codes = {name: getattr(generation, name) for name in LANGUAGE_FIELDS}
        part = {name: code for name, code in codes.items() if code is not None}
        return GenerationError(
            "invalid_prompt", template_refusal(found[1], {"messages": [{"content": [part]}]})
        )
    if status < 500:
        return GenerationError("invalid_prompt", "the engine cannot make a prompt from these messages")
    return GenerationError("engine_error", "the engine failed before it answered")


ADAPTER = LlamaServerAdapter()
