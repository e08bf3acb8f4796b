"""vLLM's engine host: one asyncio loop between the pipe and `AsyncLLM`, whose core is a process of its own.

All that the engine's requests said in one turn of the loop goes out as one frame. The death of the core, or
of a process below it, ends the host: an engine is whole or gone.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import aclosing
from importlib import import_module
from importlib.util import find_spec
from json import loads
from typing import Any, NoReturn

from ...shared.engine.pipe import Pipe, Step
from .answer import Answer
from .chat import Chat, RefusedError
from .shutdown import leave, release_shared_memory

HEALTH_S = 0.5  # how often it is asked whether the core lives
SHUTDOWN_S = 1.0  # how long the core may take to end


class Host:
    """A loaded engine and its generations."""

    def __init__(self, pipe: Pipe, engine: Any, chat: Chat) -> None:
        self._pipe = pipe
        self._engine = engine
        self._chat = chat
        self._loop = asyncio.get_running_loop()
        self._running: dict[int, asyncio.Task[None]] = {}
        self._step = Step()
        self._flushing = False

    def listen(self) -> None:
        """Take what comes over the pipe from now on."""
        self._loop.add_reader(self._pipe.fileno(), self._read)

    def _read(self) -> None:
        if not self._pipe.receive(self._begin, self._cancel):
            _end(self._engine)

    def _begin(self, number: int, body: dict[str, Any]) -> None:
        task = self._loop.create_task(self._answer(number, body))
        self._running[number] = task
        task.add_done_callback(lambda task: self._ended(number, task))

    def _cancel(self, number: int) -> None:
        if (task := self._running.get(number)) is not None:
            task.cancel()

    def _ended(self, number: int, task: asyncio.Task[None]) -> None:
        self._running.pop(number, None)
        if task.cancelled():  # before its first step
            self._step.add_end(number, "cancelled", (0, 0, 0, 0))
            self._flush_soon()

    async def _answer(self, number: int, body: dict[str, Any]) -> None:
        """One generation from its body to its end, whatever that is."""
        answer = None
        try:
            question = await self._chat.question(body)
            answer = Answer(number, question)
            outputs = self._engine.generate(
                question.prompt, question.sampling, str(number), **question.reasoning
            )
            async with aclosing(outputs):
                async for output in outputs:
                    answer.take(output, self._step)
                    self._flush_soon()
        except asyncio.CancelledError:  # the engine was told by its `generate`
            if answer is None:
                self._step.add_end(number, "cancelled", (0, 0, 0, 0))
            elif not answer.ended:
                answer.cancel(self._step)
        except RefusedError as error:
            self._step.add_error(number, error.code, str(error))
        except Exception as error:
            traceback.print_exc()
            if _is_dead(self._engine):
                _die(f"the engine's core is dead: {type(error).__name__}")
            refused = isinstance(error, import_module("vllm.exceptions").VLLMClientError)
            code = "invalid_prompt" if refused else "engine_error"
            self._step.add_error(number, code, "the engine cannot answer this request")
        self._flush_soon()

    def _flush_soon(self) -> None:
        """Write when all who were woken together have said what they had to say."""
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        step, self._step = self._step, Step()
        self._pipe.write(step.frame)


async def _serve(pipe: Pipe, options: dict[str, Any]) -> None:
    """Load, say so, and serve until told to end."""
    engine, chat = await _loaded(pipe, options)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, _end, engine)
    host = Host(pipe, engine, chat)
    gc.collect()
    gc.freeze()  # what is there now stays: it need not be looked through again
    pipe.ready(options["engine"]["max_num_seqs"], chat.context)
    host.listen()
    while True:
        await asyncio.sleep(HEALTH_S)
        if _is_dead(engine):
            _die("the engine's core is dead")


async def _loaded(pipe: Pipe, options: dict[str, Any]) -> tuple[Any, Chat]:
    engine: Any = None
    try:
        parsers = import_module("vllm.parser").ParserManager  # a wrong name need not wait for the load's end
        parsers.get_tool_parser(options["tool_parser"], enable_auto_tools=True)
        arguments = import_module("vllm.engine.arg_utils").AsyncEngineArgs
        asynchronous = import_module("vllm.v1.engine.async_llm").AsyncLLM
        engine = asynchronous.from_engine_args(arguments(**options["engine"], disable_log_stats=True))
        chat = Chat(engine, options)
        await asyncio.to_thread(chat.warm_up)
    except Exception:  # whatever it is, the worker has to hear of it
        traceback.print_exc()
        if engine is not None:
            engine.shutdown(timeout=SHUTDOWN_S)
        release_shared_memory()  # who hears of the failure kills us
        pipe.failed("vLLM cannot load the model")
        leave(1)
    return engine, chat


def _is_dead(engine: Any) -> bool:
    return bool(engine.errored)


def _end(engine: Any) -> NoReturn:
    """End the core, and then this process without asking its threads."""
    engine.shutdown(timeout=SHUTDOWN_S)
    leave(0)


def _die(reason: str) -> NoReturn:
    print(reason, file=sys.stderr)
    leave(1)


def main(arguments: list[str]) -> None:
    """Run an engine: the fd to read from, the fd to write to, `VllmOptions.for_host` as JSON."""
    incoming, outgoing, options = int(arguments[0]), int(arguments[1]), loads(arguments[2])
    pipe = Pipe(incoming, outgoing)
    loop: Callable[[], asyncio.AbstractEventLoop] | None = None
    if find_spec("uvloop") is not None:
        loop = import_module("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(_serve(pipe, options))
