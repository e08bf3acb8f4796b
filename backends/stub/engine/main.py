"""The stub's engine process: one loop that steps all running generations. Standard library only.

Requests come on one pipe, progress and steps go out on the other (see
`engines.engine_process.pipe_protocol`). Each iteration of the loop is a step, and each step is one frame with
the tokens of all generations. Generations of the same speed advance in the same steps, as the sequences of a
real batch do; those without a limit of their speed produce `BURST_TOKENS` tokens in each step.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import deque
from itertools import takewhile
from json import loads
from typing import Any

from ...shared.engine.pipe import Pipe, Step
from ...shared.engine.text_tasks import TextResult, TextTaskError
from .embedding import StubEmbedding
from .media import media_script
from .script import DirectiveError, Script, plan, text_of
from .text_tasks import result_parts

BURST_TOKENS = 64
LOAD_STEPS = 20
MAX_PREFIXES = 1_000_000
UNMEASURED_CACHE = "the stub has no model, and its prefixes no memory that could be measured"


class StubGeneration:
    """A running generation: its position in its script, and its token counts."""

    def __init__(self, number: int, script: Script, input_tokens: int, cached_tokens: int) -> None:
        self.number = number
        self.script = script
        self.part = 0
        self.offset = 0  # in the part
        self.output_tokens = 0
        self.reasoning_tokens = 0
        self.input_tokens = input_tokens
        self.cached_tokens = cached_tokens
        self.ready_at = 0.0  # when its first token may come, by time.monotonic()
        self.reports_progress = False

    @property
    def due_fault(self) -> str | None:
        """The fault of the script, once enough tokens were produced."""
        return self.script.fault if self.output_tokens >= self.script.fault_after else None

    def advance(self, frame: dict[str, list[Any]], count: int) -> None:
        """Add up to `count` pieces of the current part to `frame`, none of them after a fault."""
        if self.script.fault is not None:
            count = min(count, self.script.fault_after - self.output_tokens)
        if self.part < len(self.script.parts) and count > 0:
            kind, pieces = self.script.parts[self.part]
            output = pieces[self.offset : self.offset + count]
            if kind in ("scored", "prompt"):
                frame.setdefault("scored", []).extend((self.number, *scored) for scored in output)
            elif kind == "media":
                frame.setdefault("media", []).extend((self.number, event) for event in output)
            elif output:
                frame.setdefault(kind, []).append((self.number, output))
            self.output_tokens += 0 if kind == "prompt" else len(output)
            self.reasoning_tokens += len(output) if kind == "reasoning" else 0
            self.offset += count
            if self.offset >= len(pieces):
                self.part, self.offset = self.part + 1, 0

    def add_progress(self, frame: dict[str, list[Any]], processed: int, time_ms: int) -> None:
        """Add to `frame` how much of the prompt was read, for a generation that reports it."""
        if self.reports_progress:
            progress = (self.number, self.input_tokens, self.cached_tokens, processed, time_ms)
            frame.setdefault("progress", []).append(progress)

    def end_reasoning(self) -> None:
        """Continue with the part that follows the reasoning."""
        if self.part < len(self.script.parts) and self.script.parts[self.part][0] == "reasoning":
            self.part, self.offset = self.part + 1, 0

    def end(self, frame: dict[str, list[Any]], reason: str) -> None:
        """Add the end of the generation to `frame`."""
        counted = (self.input_tokens, self.output_tokens, self.cached_tokens, self.reasoning_tokens)
        usage = self.script.usage or counted
        stop_sequence = self.script.stop_sequence if reason == "stop" else None
        frame.setdefault("ends", []).append((self.number, reason, usage, stop_sequence))


class StepTimer:
    """Times the steps of the generations of one speed; `due` is the next step, by time.monotonic()."""

    def __init__(self, tokens_per_s: float, now: float) -> None:
        self.period = 1 / tokens_per_s if tokens_per_s > 0 else 0.0
        self.count = 1 if tokens_per_s > 0 else BURST_TOKENS
        self.due = now
        self.generations: list[StubGeneration] = []

    def next(self, now: float) -> None:
        """Set the time of the next step; missed steps are not caught up."""
        self.due = max(self.due + self.period, now)


class StubLoop:
    """The engine's loop and its state."""

    def __init__(self, pipe: Pipe, options: dict[str, Any], raw_out: int = -1) -> None:
        self.pipe = pipe
        self.raw_out = raw_out  # the outgoing pipe, for malformed data
        self.options = options
        self.slots: int = options["slots"]
        self.running: dict[int, StubGeneration] = {}
        self.queued: deque[StubGeneration] = deque()  # waiting for a slot
        self.embeddings: deque[StubEmbedding] = deque()  # each in turn makes some of its vectors
        self.results: deque[TextResult] = deque()  # of text tasks: each in turn sends one part
        self.starting: list[StubGeneration] = []  # have a slot, their first token is not due yet
        self.timers: dict[float, StepTimer] = {}  # by tokens per second
        self.prefixes: dict[str, set[int]] = {}  # hashes of all prefixes of earlier prompts, by namespace
        self.prefix_count = 0  # of all namespaces together
        self.weights: list[bytes] = []  # the memory that it pretends to have loaded

    def load(self) -> None:
        """Take the configured time and memory and report progress, or fail as configured."""
        memory_mib = self.options["stub_memory_mib"]
        if output := self.options["stub_print"]:
            print_log(output)
        if self.options["stub_print_endlessly"]:
            threading.Thread(target=print_endlessly, daemon=True).start()
        for i in range(LOAD_STEPS):
            self.pipe.load(i / LOAD_STEPS, "pretending to load")
            if self.options["stub_load_hang"]:
                signal.pause()
            if self.options["stub_load_crash"]:
                os.kill(os.getpid(), signal.SIGKILL)
            share_mib = (i + 1) * memory_mib // LOAD_STEPS - i * memory_mib // LOAD_STEPS
            self.weights.append(b"w" * (share_mib << 20))  # pages of zeros would take no memory
            time.sleep(self.options["stub_load_s"] / LOAD_STEPS)
        if message := self.options["stub_load_fail"]:
            self.pipe.failed(message)
            sys.exit(1)
        self.pipe.ready(self.slots, self.options["stub_context"])

    def loop(self) -> None:
        """Step until the worker closes the pipe."""
        while True:
            frame: dict[str, list[Any]] = {}
            readable = self.pipe.wait(self.pause())
            if readable and not self.pipe.receive(
                self.begin, self.cancel, self.flush, frame, end_reasoning=self.end_reasoning
            ):
                return
            fault = self.step(frame)
            if frame:
                self.pipe.write(frame)
            if fault is not None:
                self.inject(*fault)

    def pause(self) -> float | None:
        """Return the seconds until the next step or first token is due; None when there is neither."""
        if self.embeddings or self.results:
            return 0.0
        times = [timer.due for timer in self.timers.values()]
        times += [generation.ready_at for generation in self.starting]
        return max(0.0, min(times) - time.monotonic()) if times else None

    def begin(self, number: int, generation: dict[str, Any], frame: dict[str, list[Any]]) -> None:
        """Plan a generation, and start it when a slot is free."""
        if generation.get("text_task"):
            self.add_result(number, generation, frame)
            return
        if generation.get("embedding"):
            self.embed(number, generation["embedding"], frame)
            return
        words = [word for message in generation["messages"] for word in words_of(message)]
        words += (generation.get("prompt") or "").split() + (generation.get("suffix") or "").split()
        limit = self.options["stub_context"]
        try:
            script = (media_script if generation.get("media") else plan)(generation, self.options)
        except DirectiveError as error:
            script = Script(error=("invalid_prompt", str(error)))
        except OSError as error:
            script = Script(error=("engine_error", str(error)))
        for _ in range(script.prints):
            print_log(script.printed)
        if len(words) > limit:
            script.error = ("context_length_exceeded", f"the prompt has {len(words)} words; {limit} fit")
        if script.error is not None:
            frame.setdefault("errors", []).append((number, *script.error))
            return
        if generation.get("count_only"):
            frame.setdefault("ends", []).append((number, "stop", (len(words), 0, 0, 0), None))
            return
        cached = self.count_cached(_shared_namespace(generation), words)
        queued = StubGeneration(number, script, len(words), cached)
        queued.reports_progress = bool(generation.get("reports_progress"))
        queued.add_progress(frame, cached, 0)
        self.queued.append(queued)
        self.fill_slots()

    def add_result(self, number: int, generation: dict[str, Any], frame: dict[str, list[Any]]) -> None:
        """Make the result of a text task, unless the request has none."""
        try:
            self.results.append(TextResult(number, result_parts(generation)))
        except TextTaskError as error:
            frame.setdefault("errors", []).append((number, "invalid_prompt", str(error)))

    def embed(self, number: int, asked: dict[str, Any], frame: dict[str, list[Any]]) -> None:
        """Begin to make the vectors of a request, unless one of its inputs is too long."""
        embedding = StubEmbedding(number, asked, self.options["stub_dimensions"] or 1)
        limit = self.options["stub_context"]
        if (problem := embedding.problem(limit)) is not None:
            frame.setdefault("errors", []).append((number, *problem))
        else:
            self.embeddings.append(embedding)

    def count_cached(self, namespace: str | None, words: list[str]) -> int:
        """Return how many words also begin an earlier prompt of the namespace, and remember this prompt.

        None is no namespace: nothing counts, and nothing is remembered.
        """
        if namespace is None:
            return 0
        prefixes = []
        prefix = hash(namespace)
        for word in words:
            prefix = hash((prefix, word))
            prefixes.append(prefix)
        if self.prefix_count > MAX_PREFIXES:
            self.prefixes.clear()
            self.prefix_count = 0
        remembered = self.prefixes.setdefault(namespace, set())
        known = sum(1 for _ in takewhile(remembered.__contains__, prefixes))
        self.prefix_count -= len(remembered)
        remembered.update(prefixes[known:])
        self.prefix_count += len(remembered)
        return known

    def flush(self, number: int, kept: frozenset[str], frame: dict[str, list[Any]]) -> None:
        """Forget the prompts of all namespaces but these. A generation adds its prompt when it begins."""
        dropped = sum(len(self.prefixes.pop(name)) for name in self.prefixes.keys() - kept)
        self.prefix_count -= dropped
        frame.setdefault("flushed", []).append((number, dropped, None, UNMEASURED_CACHE))

    def fill_slots(self) -> None:
        """Give free slots to queued generations."""
        while self.queued and len(self.running) < self.slots:
            generation = self.queued.popleft()
            self.running[generation.number] = generation
            generation.ready_at = time.monotonic() + generation.script.first_token_s
            self.starting.append(generation)

    def end_reasoning(self, number: int, _frame: dict[str, list[Any]]) -> None:
        """End the reasoning of a running generation."""
        if number in self.running:
            self.running[number].end_reasoning()

    def cancel(self, number: int, frame: dict[str, list[Any]]) -> None:
        """End a generation, queued or running."""
        for embedding in [pending for pending in self.embeddings if pending.number == number]:
            self.embeddings.remove(embedding)
            embedding.end(frame, "cancelled")
        for result in [pending for pending in self.results if pending.number == number]:
            self.results.remove(result)
            frame.setdefault("ends", []).append((number, "cancelled", (0, 0, 0, 0), None))
        queued = next((waiting for waiting in self.queued if waiting.number == number), None)
        generation = self.running.pop(number, None) or queued
        if generation is not None:
            timed = (timer.generations for timer in self.timers.values())
            for generations in (self.queued, self.starting, *timed):
                if generation in generations:
                    generations.remove(generation)
            generation.end(frame, "cancelled")
            self.fill_slots()

    def step(self, frame: dict[str, list[Any]]) -> tuple[StubGeneration, str] | None:
        """Add the next tokens of each generation that is due.

        Returns the generation and the fault to inject once the frame is written, if there is one.
        """
        if self.embeddings:
            embedding = self.embeddings.popleft()
            if not embedding.advance(frame):
                self.embeddings.append(embedding)
        if self.results:
            result, part = self.results.popleft(), Step()
            if not result.advance(part):
                self.results.append(result)
            for name, entries in part.frame.items():
                frame.setdefault(name, []).extend(entries)
        now = time.monotonic()
        fault = None
        if self.starting:
            self.schedule(now, frame)
        for speed, timer in list(self.timers.items()):
            if timer.due > now:
                continue
            for generation in timer.generations:
                generation.advance(frame, timer.count)
                if kind := generation.due_fault:
                    fault = (generation, kind)
                elif generation.part >= len(generation.script.parts):
                    generation.end(frame, generation.script.reason)
                    del self.running[generation.number]
            timer.generations = [
                generation
                for generation in timer.generations
                if generation.number in self.running and not generation.due_fault
            ]
            timer.next(now)
            if not timer.generations:
                del self.timers[speed]
        self.fill_slots()
        return fault

    def schedule(self, now: float, frame: dict[str, list[Any]]) -> None:
        """Add the generations whose first token is due to the timer of their speed."""
        for generation in [one for one in self.starting if one.ready_at <= now]:
            self.starting.remove(generation)
            generation.add_progress(
                frame, generation.input_tokens, int(generation.script.first_token_s * 1000)
            )
            speed = generation.script.tokens_per_s
            self.timers.setdefault(speed, StepTimer(speed, now)).generations.append(generation)

    def inject(self, generation: StubGeneration, fault: str) -> None:
        """Inject a fault."""
        if fault == "crash":
            os.kill(os.getpid(), generation.script.signal)
        elif fault == "exit0":
            os._exit(0)
        elif fault == "garbage":
            os.write(self.raw_out, b"\xff\xff\xff\xff this is no frame")
        elif fault == "hang":
            while True:
                signal.pause()


def print_log(output: str) -> None:
    """Write a text to the engine's log, with its escapes (`\\n`) resolved, and a line break."""
    plain = output.encode("ascii", "backslashreplace").decode("unicode_escape", "replace")
    os.write(1, plain.encode("utf-8", "replace") + b"\n")


def print_endlessly() -> None:
    """Write numbered lines to the engine's log until the process ends."""
    number = 0
    while True:
        print_log("".join(f"line {number + at} of an endless output\n" for at in range(1000))[:-1])
        number += 1000


def _shared_namespace(generation: dict[str, Any]) -> str | None:
    """The request's cache namespace; None if the request must not share cached prefixes."""
    shares = generation.get("cache_mode", "prefix") == "prefix"
    namespace: str | None = generation.get("cache_namespace") if shares else None
    return namespace


def words_of(message: dict[str, Any]) -> list[str]:
    """Return the words that count as input: those of the text, and the data of each image and recording."""
    words = text_of(message).split()
    names = {"image": "url", "audio": "data"}
    content = message.get("content", ())
    return words + [part[names[part["type"]]] for part in content if part["type"] in names]


def main(arguments: list[str]) -> None:
    """Run an engine. Arguments: the descriptor to read from, the one to write to, the options as JSON."""
    incoming, outgoing, options = int(arguments[0]), int(arguments[1]), loads(arguments[2])
    if options["stub_ignore_sigterm"]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    engine = StubLoop(Pipe(incoming, outgoing), options, outgoing)
    engine.load()
    engine.loop()
