"""The stub's engine host: one loop that steps all running generations. Standard library only.

It speaks as `pipe_engine` describes: requests come on one pipe, progress and steps go out on the other. Each
turn of the loop is a step, and each step one frame with the tokens of all generations. Generations of one
speed share a beat, as the sequences of a real batch do; those without a speed say `BURST` tokens in each
step.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import deque
from itertools import takewhile
from json import loads
from typing import Any

from ...shared.engine.pipe import Pipe
from .script import DirectiveError, Script, plan, text_of

BURST = 64
LOAD_STEPS = 20
MAX_REMEMBERED = 1_000_000


class Run:
    """A generation under way: where it is in its script and what it has used."""

    def __init__(self, number: int, script: Script, input_tokens: int, cached_tokens: int) -> None:
        self.number = number
        self.script = script
        self.part = 0
        self.offset = 0  # in the part
        self.said = 0
        self.thought = 0
        self.input_tokens = input_tokens
        self.cached_tokens = cached_tokens
        self.ready_at = 0.0  # when its first token may come, by time.monotonic()

    @property
    def due_accident(self) -> str | None:
        """The accident whose moment has come."""
        return self.script.accident if self.said >= self.script.accident_after else None

    def advance(self, frame: dict[str, list[Any]], count: int) -> None:
        """Say up to `count` pieces of the current part into `frame`, not beyond an accident."""
        if self.script.accident is not None:
            count = min(count, self.script.accident_after - self.said)
        if self.part < len(self.script.parts) and count > 0:
            kind, pieces = self.script.parts[self.part]
            said = pieces[self.offset : self.offset + count]
            if said:
                frame.setdefault(kind, []).append((self.number, said))
            self.said += len(said)
            self.thought += len(said) if kind == "reasoning" else 0
            self.offset += count
            if self.offset >= len(pieces):
                self.part, self.offset = self.part + 1, 0

    def end(self, frame: dict[str, list[Any]], reason: str) -> None:
        """Put the end into `frame`."""
        usage = (self.input_tokens, self.said, self.cached_tokens, self.thought)
        frame.setdefault("ends", []).append((self.number, reason, usage))


class Beat:
    """The generations of one speed; `due` is their next step, by time.monotonic()."""

    def __init__(self, tokens_per_s: float, now: float) -> None:
        self.period = 1 / tokens_per_s if tokens_per_s > 0 else 0.0
        self.count = 1 if tokens_per_s > 0 else BURST
        self.due = now
        self.runs: list[Run] = []

    def next(self, now: float) -> None:
        """Move on to the next step; steps that were missed are not caught up."""
        self.due = max(self.due + self.period, now)


class Engine:
    """The loop and all it knows."""

    def __init__(self, pipe: Pipe, options: dict[str, Any], garbage_end: int = -1) -> None:
        self.pipe = pipe
        self.garbage_end = garbage_end  # the pipe's, for what is no frame
        self.options = options
        self.slots: int = options["slots"]
        self.running: dict[int, Run] = {}
        self.in_line: deque[Run] = deque()  # beyond the slots
        self.waiting: list[Run] = []  # for their first token
        self.beats: dict[float, Beat] = {}
        self.remembered: set[int] = set()  # hashes of all beginnings of all prompts seen
        self.weights: list[bytes] = []  # what it pretends to have loaded, kept to the end

    def load(self) -> None:
        """Take the time and the memory the options say, telling how far it is; or fail as they say."""
        memory_mib = self.options["stub_memory_mib"]
        for i in range(LOAD_STEPS):
            self.pipe.load(i / LOAD_STEPS, "pretending to load")
            if self.options["stub_load_hang"]:
                signal.pause()
            if self.options["stub_load_crash"]:
                os.kill(os.getpid(), signal.SIGKILL)
            share_mib = (i + 1) * memory_mib // LOAD_STEPS - i * memory_mib // LOAD_STEPS
            self.weights.append(b"w" * (share_mib << 20))  # zeros would be mapped, and take no memory yet
            time.sleep(self.options["stub_load_s"] / LOAD_STEPS)
        if message := self.options["stub_load_fail"]:
            self.pipe.failed(message)
            sys.exit(1)
        self.pipe.ready(self.slots, self.options["stub_context"])

    def loop(self) -> None:
        """Step until the worker hangs up."""
        while True:
            frame: dict[str, list[Any]] = {}
            if self.pipe.wait(self.pause()) and not self.pipe.receive(self.begin, self.cancel, frame):
                return
            accident = self.step(frame)
            if frame:
                self.pipe.write(frame)
            if accident is not None:
                self.happen(*accident)

    def pause(self) -> float | None:
        """Seconds until something is due."""
        times = [beat.due for beat in self.beats.values()] + [run.ready_at for run in self.waiting]
        return max(0.0, min(times) - time.monotonic()) if times else None

    def begin(self, number: int, generation: dict[str, Any], frame: dict[str, list[Any]]) -> None:
        """Plan a generation, and run it when a slot is free."""
        words = [word for message in generation["messages"] for word in words_of(message)]
        limit = self.options["stub_context"]
        try:
            script = plan(generation, self.options)
        except DirectiveError as error:
            script = Script(error=("invalid_prompt", str(error)))
        if len(words) > limit:
            script.error = ("context_length_exceeded", f"{len(words)} words; {limit} fit")
        if script.error is not None:
            frame.setdefault("errors", []).append((number, *script.error))
            return
        self.in_line.append(Run(number, script, len(words), self.recall(words)))
        self.fill_slots()

    def recall(self, words: list[str]) -> int:
        """How many words begin an earlier prompt as well; remembers this one."""
        beginnings = []
        beginning = 0
        for word in words:
            beginning = hash((beginning, word))
            beginnings.append(beginning)
        known = sum(1 for _ in takewhile(self.remembered.__contains__, beginnings))
        if len(self.remembered) > MAX_REMEMBERED:
            self.remembered.clear()
        self.remembered.update(beginnings[known:])
        return known

    def fill_slots(self) -> None:
        """Give free slots to who is in line."""
        while self.in_line and len(self.running) < self.slots:
            run = self.in_line.popleft()
            self.running[run.number] = run
            run.ready_at = time.monotonic() + run.script.first_token_s
            self.waiting.append(run)

    def cancel(self, number: int, frame: dict[str, list[Any]]) -> None:
        """End a generation wherever it is."""
        everywhere = [self.in_line, self.waiting, *(beat.runs for beat in self.beats.values())]
        run = self.running.pop(number, None) or next((r for r in self.in_line if r.number == number), None)
        if run is not None:
            for place in everywhere:
                if run in place:
                    place.remove(run)
            run.end(frame, "cancelled")
            self.fill_slots()

    def step(self, frame: dict[str, list[Any]]) -> tuple[Run, str] | None:
        """Let each generation that is due say its next tokens; an accident is to happen after the write."""
        now = time.monotonic()
        accident = None
        if self.waiting:
            self.enrol(now)
        for speed, beat in list(self.beats.items()):
            if beat.due > now:
                continue
            for run in beat.runs:
                run.advance(frame, beat.count)
                if kind := run.due_accident:
                    accident = (run, kind)
                elif run.part >= len(run.script.parts):
                    run.end(frame, run.script.reason)
                    del self.running[run.number]
            beat.runs = [run for run in beat.runs if run.number in self.running and not run.due_accident]
            beat.next(now)
            if not beat.runs:
                del self.beats[speed]
        self.fill_slots()
        return accident

    def enrol(self, now: float) -> None:
        """Let those whose first token is due join the beat of their speed."""
        for run in [run for run in self.waiting if run.ready_at <= now]:
            self.waiting.remove(run)
            speed = run.script.tokens_per_s
            self.beats.setdefault(speed, Beat(speed, now)).runs.append(run)

    def happen(self, run: Run, accident: str) -> None:
        """Let an accident happen."""
        if accident == "crash":
            os.kill(os.getpid(), run.script.signal)
        elif accident == "exit0":
            os._exit(0)
        elif accident == "garbage":
            os.write(self.garbage_end, b"\xff\xff\xff\xff this is no frame")
        elif accident == "hang":
            while True:
                signal.pause()


def words_of(message: dict[str, Any]) -> list[str]:
    """The words that count as input: those of the text, then the URL of each image as one more."""
    words = text_of(message).split()
    return words + [part["url"] for part in message.get("content", ()) if part["type"] == "image"]


def main(arguments: list[str]) -> None:
    """Run an engine: the fd to read from, the fd to write to, the options as JSON."""
    incoming, outgoing, options = int(arguments[0]), int(arguments[1]), loads(arguments[2])
    if options["stub_ignore_sigterm"]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    engine = Engine(Pipe(incoming, outgoing), options, outgoing)
    engine.load()
    engine.loop()
