"""The loop of ExLlamaV3's host: what runs, what came in, and what each step of the generator says."""

from __future__ import annotations

import sys
import traceback
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ...shared.engine.output_parser import OutputParser
from ...shared.engine.pipe import Pipe, Step
from .model import PAGE, Model
from .request import RefusedError, Request, Requests

REASONS = {"max_new_tokens": "length"}
"""Of those of the generator's; whatever else ends a job is a stop."""


@dataclass
class Run:
    """A generation under way; `said` is how many tokens of its answer were told."""

    number: int
    request: Request
    reply: OutputParser
    said: int = 0


class Loop:
    """Runs one loaded model. `slots` is how many requests it takes at once."""

    def __init__(self, pipe: Pipe, model: Model) -> None:
        self.slots = model.slots
        self.context = model.context
        self._pipe = pipe
        self._model = model
        self._generator = model.generator
        self._requests = Requests(model)
        self._runs: dict[int, Run] = {}

    def run(self) -> None:
        """Step until the worker hangs up. Raises what escapes the generator."""
        while True:
            step = Step()
            coming = self._pipe.wait(0 if self._runs else None)
            if coming and not self._pipe.receive(self._begin, self._cancel, step):
                return
            if self._runs:
                for result in self._generator.iterate():
                    self._take(result, step)
            if step.frame:
                self._pipe.write(step.frame)

    def _begin(self, number: int, body: dict[str, Any], step: Step) -> None:
        try:
            request = self._requests.request(body, number)
            self._generator.enqueue(request.job)
        except RefusedError as error:
            if error.__cause__ is not None:
                print(f"refused: {error.__cause__}", file=sys.stderr)
            step.add_error(number, error.code, str(error))
        except Exception as error:
            self._fail(number, error, step)
        else:
            calls = bool(body.get("tools"))
            stop = body.get("stop", ())
            reply = OutputParser(number, self._model.syntax, stop, tools=calls, in_reasoning=request.thinking)
            self._runs[number] = Run(number, request, reply)

    def _cancel(self, number: int, step: Step) -> None:
        run = self._runs.get(number)
        if run is not None:
            self._generator.cancel(run.request.job)
            self._end(run, "cancelled", step)

    def _take(self, result: dict[str, Any], step: Step) -> None:
        """Say what one result of the generator's brought."""
        run = self._runs.get(result["job"].identifier)
        if run is None:
            return
        if result["stage"] == "error":
            del self._runs[run.number]
            self._fail(run.number, result["error"], step)
        elif result["stage"] == "streaming":
            self._say(run, result, step)

    def _say(self, run: Run, result: dict[str, Any], step: Step) -> None:
        tokens = result["token_ids"].shape[-1] if "token_ids" in result else 0
        run.said += tokens
        stopped = run.reply.feed(result.get("text", ""), step, tokens)
        if result["eos"]:
            run.said = result["new_tokens"]
        elif stopped:
            self._generator.cancel(run.request.job)
        if not stopped and not result["eos"]:
            return
        if any(one.broken for one in result["job"].filters):
            del self._runs[run.number]
            step.add_error(run.number, "invalid_prompt", "the parameters of a tool are too complex a schema")
            return
        if not stopped:
            run.reply.finish(step)
        reason = "stop" if stopped else REASONS.get(result["eos_reason"], "stop")
        self._end(run, "tool_calls" if reason == "stop" and run.reply.has_tool_calls else reason, step)

    def _end(self, run: Run, reason: str, step: Step) -> None:
        del self._runs[run.number]
        tokens = (run.request.input_tokens, run.said, _cached(run.request.job), run.reply.reasoning_tokens)
        step.add_end(run.number, reason, tokens)

    def _fail(self, number: int, error: Exception, step: Step) -> None:
        """End one generation that failed, or raise what must be the end of all."""
        traceback.print_exception(error)
        torch: Any = import_module("torch")
        if isinstance(error, getattr(torch, "AcceleratorError", ())):
            raise error  # the CUDA context is gone, and whatever is asked of it will fail
        step.add_error(number, "engine_error", "the engine failed while it answered")


def _cached(job: Any) -> int:
    """How many tokens of its prompt a job found in the cache; one that gave way remembers its first."""
    if job.rq_cached is not None:
        return int(job.rq_cached[1])
    return int(job.cached_pages * PAGE + job.cached_tokens)
