"""Gives an engine a conversation without its oldest parts, if the whole one does not fit into its context.

The engine counts the tokens (`Generation.count_only`); docs/decisions/0026 has the rule and its bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from backends.base import Engine, Finish, HasContextLimit, Sink
from engines.engine_process.errors import EngineError
from generation.generation import Generation
from generation.truncation import DroppableParts
from streams.events import Delta, Usage

DEFAULT_ROOM = 1024
"""Tokens that are left for an answer without `Sampling.max_tokens`."""


def submit_truncated(
    engine: Engine, id: str, generation: Generation, sink: Sink, is_stopped: Callable[[], bool]
) -> None:
    """Submit a generation with `truncate`; called on the worker's event loop, and does not block.

    `is_stopped` says whether the generation was cancelled, which an engine may learn too late: between two
    counts. As with `Engine.submit`, every outcome goes to the sink.
    """
    _Search(engine, id, generation, sink, is_stopped).begin()


def prompt_limit(context: int, max_tokens: int | None) -> int:
    """Return how many tokens a prompt may have, so that there is room for an answer."""
    return context - min(max_tokens or DEFAULT_ROOM, context // 2)


class _Search:
    """A binary search for the fewest parts to drop; the sink of the counts.

    Dropping fewer than `_least` parts is not enough, dropping `_most` is, or nothing is. The first count is
    of the whole conversation, as most fit, the second of what is never dropped: if that is too long, none of
    the others is made.
    """

    def __init__(
        self, engine: Engine, id: str, generation: Generation, sink: Sink, is_stopped: Callable[[], bool]
    ) -> None:
        context = engine.context if isinstance(engine, HasContextLimit) else None
        self._limit = None if context is None else prompt_limit(context, generation.sampling.max_tokens)
        self._engine, self._id, self._sink, self._is_stopped = engine, id, sink, is_stopped
        self._generation = replace(generation, truncate=False)
        self._parts = DroppableParts(generation.messages)
        self._least, self._most = 0, self._parts.count
        self._dropped = 0  # in the count under way
        self._counts = 0

    def begin(self) -> None:
        """Count for the first time, if there is anything to drop."""
        self._continue()

    def delta(self, delta: Delta) -> None:
        """Ignore a delta: a count has none."""

    def finish(self, finish: Finish) -> None:
        """Decide by the count whether the conversation fits."""
        if finish.reason == "cancelled" or self._is_stopped():
            self._sink.finish(Finish("cancelled", Usage()))
        else:
            self._take(fits=self._limit is None or finish.usage.input_tokens <= self._limit)

    def fail(self, error: EngineError) -> None:
        """Shorten a conversation that was too long; pass any other error to the job's sink."""
        if error.code != "context_length_exceeded":
            self._sink.fail(error)
        elif self._is_stopped():
            self._sink.finish(Finish("cancelled", Usage()))
        else:
            self._take(fits=False)

    def _take(self, *, fits: bool) -> None:
        if fits:
            self._most = self._dropped
        else:
            self._least = self._dropped + 1
        self._continue()

    def _continue(self) -> None:
        if self._least >= self._most:
            self._engine.submit(self._id, self._without(self._most), self._sink)
            return
        if self._counts == 0:
            self._dropped = 0
        elif self._counts == 1:
            self._dropped = self._most
        else:
            self._dropped = self._parts.middle(self._least, self._most)
        self._counts += 1
        self._engine.submit(self._id, replace(self._without(self._dropped), count_only=True), self)

    def _without(self, dropped: int) -> Generation:
        return replace(self._generation, messages=self._parts.without(dropped))
