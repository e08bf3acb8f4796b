"""The event loop of ExLlamaV3's engine process: passes requests to the generator, and its results to the
worker."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ...shared.engine.output_parser import OutputParser
from ...shared.engine.pipe import Pipe, Step
from ...shared.engine.refusal_log import log_refusal
from .forced_text import append_text
from .model import ExllamaModel
from .namespaces import PAGE, clear_pages, digest_of
from .request import ExllamaRequest, ExllamaRequestBuilder, ExllamaRequestError

UNSIZED_CACHE = "ExLlamaV3 does not report the size of its pages"
REASONS = {"max_new_tokens": "length"}
"""The end reason for the generator's reason; all other reasons are "stop"."""


@dataclass
class ExllamaGeneration:
    """The state of a running generation; `output_tokens` were passed to its parser.

    `thinking_budget` is the most tokens of its reasoning, until that has been ended.
    """

    number: int
    request: ExllamaRequest
    parser: OutputParser
    thinking_budget: int | None = None
    output_tokens: int = 0


class ExllamaLoop:
    """Runs one loaded model; `slots` is the number of requests that run at once."""

    def __init__(self, pipe: Pipe, model: ExllamaModel) -> None:
        self.slots = model.slots
        self.context = model.context
        self._pipe = pipe
        self._model = model
        self._generator = model.generator
        self._request_builder = ExllamaRequestBuilder(model)
        self._running: dict[int, ExllamaGeneration] = {}

    def run(self) -> None:
        """Run the generator until the worker closes its pipe. Raises what the generator raises."""
        while True:
            step = Step()
            readable = self._pipe.wait(0 if self._running else None)
            if readable and not self._pipe.receive(self._begin, self._cancel, self._flush, step):
                return
            if self._running:
                for result in self._generator.iterate():
                    self._on_result(result, step)
            if step.frame:
                self._pipe.write(step.frame)

    def _begin(self, number: int, body: dict[str, Any], step: Step) -> None:
        try:
            request = self._request_builder.build(body, number)
            if body.get("count_only"):
                step.add_end(number, "stop", (request.input_tokens, 0, 0, 0))
                return
            self._generator.enqueue(request.job)
        except ExllamaRequestError as error:
            if error.__cause__ is not None:
                log_refusal(error.__cause__)
            step.add_error(number, error.code, str(error))
        except Exception as error:
            self._fail(number, error, step)
        else:
            calls = bool(body.get("tools"))
            stop = body.get("stop", ())
            parser = OutputParser(
                number,
                self._model.syntax,
                stop,
                tools=calls,
                in_reasoning=request.thinking,
                single_call=body.get("parallel_tool_calls") is False,
                json_text="response_format" in body,
            )
            generation = ExllamaGeneration(number, request, parser, body.get("thinking_budget"))
            self._running[number] = generation
            self._bound_reasoning(generation)

    def _cancel(self, number: int, step: Step) -> None:
        generation = self._running.get(number)
        if generation is not None:
            self._generator.cancel(generation.request.job)
            self._end(generation, "cancelled", step)

    def _flush(self, number: int, kept: frozenset[str], step: Step) -> None:
        """Clear the pages of other namespaces; the jobs of these run on, and clear theirs at their ends."""
        digests = frozenset(map(digest_of, kept))
        for generation in self._running.values():
            generation.request.job.leave(digests)
        removed = clear_pages(self._generator.pagetable, digests)
        if self._model.images is not None:
            removed += self._model.images.forget(kept)
        step.add_flushed(number, removed, None, UNSIZED_CACHE)

    def _on_result(self, result: dict[str, Any], step: Step) -> None:
        """Process one result of the generator."""
        generation = self._running.get(result["job"].identifier)
        if generation is None:
            return
        if result["stage"] == "error":
            del self._running[generation.number]
            self._fail(generation.number, result["error"], step)
        elif result["stage"] == "streaming":
            self._stream(generation, result, step)

    def _stream(self, generation: ExllamaGeneration, result: dict[str, Any], step: Step) -> None:
        tokens = result["token_ids"].shape[-1] if "token_ids" in result else 0
        generation.output_tokens += tokens
        stopped = _feed(generation, result, tokens, step)
        if result["eos"]:
            generation.output_tokens = result["new_tokens"]
        elif stopped:
            self._generator.cancel(generation.request.job)
        if not stopped and not result["eos"]:
            self._bound_reasoning(generation)
            return
        if any(filter_.failure for filter_ in result["job"].filters):
            del self._running[generation.number]
            message = "the schema of a tool or of the format is too complex"
            step.add_error(generation.number, "invalid_prompt", message)
            return
        if not stopped:
            _finish(generation, step)
        reason = "stop" if stopped else REASONS.get(result["eos_reason"], "stop")
        if reason == "stop" and generation.parser.has_tool_calls:
            reason = "tool_calls"
        self._end(generation, reason, step)

    def _bound_reasoning(self, generation: ExllamaGeneration) -> None:
        """End the reasoning if its budget is used up: the tokens of its end marker follow."""
        budget, parser, end = generation.thinking_budget, generation.parser, self._model.syntax.reasoning_end
        if budget is None or end is None or not parser.in_reasoning or parser.reasoning_tokens < budget:
            return
        generation.thinking_budget = None
        append_text(generation.request.job, end)

    def _end(self, generation: ExllamaGeneration, reason: str, step: Step) -> None:
        del self._running[generation.number]
        tokens = (
            generation.request.input_tokens,
            generation.output_tokens,
            _cached(generation.request.job),
            generation.parser.reasoning_tokens,
        )
        step.add_end(generation.number, reason, tokens, generation.parser.stop_sequence)

    def _fail(self, number: int, error: Exception, step: Step) -> None:
        """End one generation that failed; raises an error after which no generation can continue."""
        traceback.print_exception(error)
        torch: Any = import_module("torch")
        if isinstance(error, getattr(torch, "AcceleratorError", ())):
            raise error  # the CUDA context is lost: every later call fails
        step.add_error(number, "engine_error", "the engine failed while it answered")


def _feed(generation: ExllamaGeneration, result: dict[str, Any], tokens: int, step: Step) -> bool:
    """Parse a result's text into `step`; true when the answer has ended."""
    parser, scores, text = generation.parser, generation.request.scores, result.get("text", "")
    if scores is None:
        return parser.feed(text, step, tokens)
    parsed, was_in_text = Step(), parser.in_text
    ended = parser.feed(text, parsed, tokens)
    if not parser.in_text:
        scores.clear()
    elif was_in_text:  # else these are the tokens of a marker
        scores.add(result)
    scores.move(generation.number, parsed, step)
    return ended


def _finish(generation: ExllamaGeneration, step: Step) -> None:
    """Add the text that the parser has held back to `step`."""
    scores = generation.request.scores
    if scores is None:
        generation.parser.finish(step)
        return
    parsed = Step()
    generation.parser.finish(parsed)
    scores.move(generation.number, parsed, step)


def _cached(job: Any) -> int:
    """The tokens of its prompt that a job found in the cache when it started; a preempted job has recorded
    them."""
    if job.rq_cached is not None:
        return int(job.rq_cached[1])
    return int(job.cached_pages * PAGE + job.cached_tokens)
