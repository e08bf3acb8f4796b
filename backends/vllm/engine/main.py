"""vLLM's engine process: an asyncio loop between the pipes and `AsyncLLM`, whose core is a separate process.

All output of one iteration of the loop is sent as one frame. When the core or one of its child processes
dies, this process ends too: an engine is either complete or gone.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import aclosing
from importlib import import_module
from importlib.util import find_spec
from json import loads
from typing import Any, NoReturn

from ...shared.engine.facts import capacity_facts, quantization_of, version_of
from ...shared.engine.pipe import CacheUse, Pipe, Step
from .cache_reset import CacheReset
from .chat import ChatPreparer, VllmRequestError
from .output import VllmOutput
from .shutdown import exit_process, release_shared_memory
from .vectors import InputPreparer

HEALTH_CHECK_S = 0.5  # between two checks whether the core is alive
SHUTDOWN_S = 1.0  # from the shutdown of the core to its kill


class VllmLoop:
    """A loaded engine and its running generations."""

    def __init__(self, pipe: Pipe, engine: Any, chat: Any, loras: Mapping[str, Any]) -> None:
        """`loras` are vLLM's requests for the LoRA adapters, by name."""
        self._pipe = pipe
        self._loras = loras
        self._engine = engine
        self._chat = chat
        self._loop = asyncio.get_running_loop()
        self._running: dict[int, asyncio.Task[None]] = {}
        self._step = Step()
        self._flushing = False
        self._outputs: dict[int, VllmOutput] = {}
        self._cache_use = CacheUse()
        self._cache_reset = CacheReset(engine.reset_prefix_cache, lambda: not self._running)
        self._resets: set[asyncio.Task[None]] = set()
        self._cache_tokens: int = getattr(engine.vllm_config.cache_config, "kv_cache_size_tokens", 0) or 0

    def accept_requests(self) -> None:
        """Start to read requests from the pipe."""
        self._loop.add_reader(self._pipe.fileno(), self._read)

    def _read(self) -> None:
        if not self._pipe.receive(self._begin, self._cancel, self._drop_cached):
            _shut_down(self._engine)

    def _begin(self, number: int, body: dict[str, Any]) -> None:
        task = self._loop.create_task(self._run(number, body))
        self._running[number] = task
        task.add_done_callback(lambda task: self._ended(number, task))

    def _cancel(self, number: int) -> None:
        if (task := self._running.get(number)) is not None:
            task.cancel()

    def _drop_cached(self, number: int, kept: frozenset[str]) -> None:
        self._resets.add(self._loop.create_task(self._answer_flush(number, kept)))

    async def _answer_flush(self, number: int, kept: frozenset[str]) -> None:
        if self._engine.vllm_config.cache_config.enable_prefix_caching:
            reason = await self._cache_reset.flush(kept)
            self._step.add_flushed(number, None, None, reason)
        else:
            self._step.add_flushed(number, 0, 0.0)
        self._flush_soon()
        self._resets = {task for task in self._resets if not task.done()}

    def _ended(self, number: int, task: asyncio.Task[None]) -> None:
        self._running.pop(number, None)
        self._cache_reset.on_end()
        if task.cancelled():  # before its first step
            self._step.add_end(number, "cancelled", (0, 0, 0, 0))
            self._flush_soon()

    async def _run(self, number: int, body: dict[str, Any]) -> None:
        """Run one generation from its request to its end."""
        try:
            await self._answer(number, body)
        except asyncio.CancelledError:  # vLLM's `generate` has aborted it in the engine
            self._end_cancelled(number)
        except VllmRequestError as error:
            self._step.add_error(number, error.code, str(error))
        except Exception as error:
            traceback.print_exc()
            if _is_dead(self._engine):
                _exit_with_error(f"the engine's core is dead: {type(error).__name__}")
            refused = isinstance(error, import_module("vllm.exceptions").VLLMClientError)
            code = "invalid_prompt" if refused else "engine_error"
            self._step.add_error(number, code, "the engine cannot answer this request")
        self._outputs.pop(number, None)
        self._flush_soon()

    async def _answer(self, number: int, body: dict[str, Any]) -> None:
        """Run one generation; its output goes to the step. Raises `VllmRequestError`, and errors of vLLM."""
        count_only, lora = body.pop("count_only", False), body.pop("lora", None)
        body.pop("continue_last", None)  # vLLM's own fields for it are there, too
        if lora is not None and lora not in self._loras:
            raise VllmRequestError("unsupported_parameter", "the engine has no LoRA adapter with this name")
        request = await self._chat.prepare(body)
        if count_only:
            self._step.add_end(number, "stop", (len(request.tokens), 0, 0, 0))
            return
        output = self._outputs[number] = VllmOutput(number, request)
        outputs = self._engine.generate(
            request.prompt,
            request.sampling,
            str(number),
            lora_request=None if lora is None else self._loras[lora],
            **request.reasoning_arguments,
        )
        async with aclosing(outputs):
            async for item in outputs:
                output.add(item, self._step)
                self._flush_soon()

    def _end_cancelled(self, number: int) -> None:
        output = self._outputs.get(number)
        if output is None:
            self._step.add_end(number, "cancelled", (0, 0, 0, 0))
        elif not output.ended:
            output.cancel(self._step)

    def _flush_soon(self) -> None:
        """Send the frame when all tasks that are ready have added their output."""
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        step, self._step = self._step, Step()
        if self._cache_tokens:
            self._cache_use.add_to(step, self._share_of_cache, idle=not self._outputs)
        self._pipe.write(step.frame)

    def _share_of_cache(self) -> float:
        """The share of the cache that running requests hold; vLLM counts the rest as free, cached or not."""
        return sum(output.held_tokens for output in self._outputs.values()) / self._cache_tokens


class VectorLoop(VllmLoop):
    """A loaded engine that makes vectors of texts, and its running requests."""

    def __init__(self, pipe: Pipe, engine: Any, inputs: InputPreparer) -> None:
        super().__init__(pipe, engine, inputs, {})
        self._inputs = inputs
        self._made: dict[int, int] = {}  # tokens of the inputs whose vectors were made

    async def _answer(self, number: int, body: dict[str, Any]) -> None:
        self._inputs.check(body)
        count = self._made[number] = 0
        while count < len(body["inputs"]):
            part = await self._inputs.part(body["inputs"], count)
            vectors = await self._inputs.vectors(f"{number}-{count}", part, body["dimensions"])
            for index, vector in enumerate(vectors, count):
                self._step.add_vector(number, index, vector)
            count += len(part)
            self._made[number] += sum(map(len, part))
            self._flush_soon()
        self._step.add_end(number, "stop", (self._made.pop(number), 0, 0, 0))

    def _end_cancelled(self, number: int) -> None:
        self._step.add_end(number, "cancelled", (self._made.pop(number, 0), 0, 0, 0))


async def _serve(pipe: Pipe, options: dict[str, Any]) -> None:
    """Load, report it, and serve until SIGTERM or until the worker closes the pipe."""
    engine, chat = await _loaded(pipe, options)
    loras = await _loaded_loras(pipe, engine, options["loras"])
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, _shut_down, engine)
    if isinstance(chat, InputPreparer):
        vllm_loop: VllmLoop = VectorLoop(pipe, engine, chat)
    else:
        vllm_loop = VllmLoop(pipe, engine, chat, loras)
    gc.collect()
    gc.freeze()  # exempt the long-lived objects from garbage collection
    pipe.ready(options["engine"]["max_num_seqs"], chat.context, **_facts(engine))
    vllm_loop.accept_requests()
    while True:
        await asyncio.sleep(HEALTH_CHECK_S)
        if _is_dead(engine):
            _exit_with_error("the engine's core is dead")


async def _loaded(pipe: Pipe, options: dict[str, Any]) -> tuple[Any, ChatPreparer | InputPreparer]:
    engine: Any = None
    try:
        parsers = import_module("vllm.parser").ParserManager  # a wrong name fails before the long load
        parsers.get_tool_parser(options["tool_parser"], enable_auto_tools=True)
        arguments = import_module("vllm.engine.arg_utils").AsyncEngineArgs
        async_llm = import_module("vllm.v1.engine.async_llm").AsyncLLM
        given = dict(options["engine"])
        if given.get("pooler_config") is not None:
            given["pooler_config"] = import_module("vllm.config").PoolerConfig(**given["pooler_config"])
        engine = async_llm.from_engine_args(arguments(**given, disable_log_stats=True))
        if "runner" in given:
            inputs = InputPreparer(engine)
            await inputs.warm_up()
            return engine, inputs
        chat = ChatPreparer(engine, options)
        await asyncio.to_thread(chat.warm_up)
    except Exception:  # every error must be reported to the worker
        traceback.print_exc()
        _fail_to_load(pipe, engine, "vLLM cannot load the model")
    return engine, chat


async def _loaded_loras(pipe: Pipe, engine: Any, folders: Mapping[str, str]) -> dict[str, Any]:
    """Load the LoRA adapters. Returns vLLM's requests for them by name."""
    loras: dict[str, Any] = {}
    for number, (name, folder) in enumerate(folders.items(), start=1):
        loras[name] = import_module("vllm.lora.request").LoRARequest(name, number, folder)
        try:
            await engine.add_lora(loras[name])
        except Exception:
            traceback.print_exc()
            print(sentence := f"vLLM cannot load the LoRA adapter {name}", file=sys.stderr, flush=True)
            _fail_to_load(pipe, engine, sentence)
    return loras


def _fail_to_load(pipe: Pipe, engine: Any, sentence: str) -> NoReturn:
    if engine is not None:
        engine.shutdown(timeout=SHUTDOWN_S)
    release_shared_memory()  # the worker kills this process when it reads the failure
    pipe.failed(sentence)
    exit_process(1)


def _facts(engine: Any) -> dict[str, Any]:
    model, cache = engine.model_config, engine.vllm_config.cache_config
    config: dict[str, Any] = model.hf_config.to_dict()
    return {
        "version": version_of("vllm"),
        "quantization": quantization_of(config, model.dtype),
        **capacity_facts(_cache_tokens(cache) if cache.enable_prefix_caching else None, "tokens"),
    }


def _cache_tokens(cache: Any) -> int:
    """How many tokens the cache of one core has room for; 0 if it does not report it.

    vLLM's own number, since the layers of some models share the blocks; blocks times their size in versions
    without it.
    """
    blocks: int = (cache.num_gpu_blocks or 0) * (cache.block_size or 0)
    return int(getattr(cache, "kv_cache_size_tokens", None) or blocks)


def _is_dead(engine: Any) -> bool:
    return bool(engine.errored)


def _shut_down(engine: Any) -> NoReturn:
    """End the core, and then this process without waiting for its threads."""
    engine.shutdown(timeout=SHUTDOWN_S)
    exit_process(0)


def _exit_with_error(reason: str) -> NoReturn:
    print(reason, file=sys.stderr)
    exit_process(1)


def main(arguments: list[str]) -> None:
    """Run an engine. Arguments: the descriptor to read from, the one to write to, the options as JSON.

    The options are those of `VllmOptions.for_engine`.
    """
    incoming, outgoing, options = int(arguments[0]), int(arguments[1]), loads(arguments[2])
    pipe = Pipe(incoming, outgoing)
    loop: Callable[[], asyncio.AbstractEventLoop] | None = None
    if find_spec("uvloop") is not None:
        loop = import_module("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(_serve(pipe, options))
