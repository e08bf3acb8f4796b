"""Several answers to one request (`n`, a list of prompts): each choice is a job, and a part of one answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from api.http.errors import InvalidRequest
from api.inference.dialects.base import ParsedRequest, Prompt
from generation.generation import Generation
from streams.events import End, Usage

MAX_N = 8
"""The most answers to one prompt."""

MAX_CHOICES = 32
"""The most choices of one request with several prompts."""

_SEEDS = 2**64
_LEAST_SEED = -(2**63)


def count_of(body: dict[str, Any], prompts: int = 1) -> int:
    """The field `n` of a body that fits its schema. Raises `InvalidRequest` if the choices are too many."""
    n: int = body.get("n") or 1
    if prompts * n > MAX_CHOICES:
        raise InvalidRequest(
            f"prompts times n must be at most {MAX_CHOICES}", param="prompt" if prompts > 1 else "n"
        )
    return n


def split(parsed: ParsedRequest) -> list[ParsedRequest]:
    """A request for each choice, in their order: the `n` answers to a prompt are neighbours.

    A seed grows by 1 from one answer to the next, so that they differ, and so that each can be asked for
    alone.
    """
    if parsed.replicas and parsed.generation.state is not None:
        states = [replace(parsed.generation.state, replica=name) for name in parsed.replicas]
        return [replace(parsed, generation=replace(parsed.generation, state=one)) for one in states]
    if parsed.choices == 1:
        return [parsed]
    if not parsed.prompts:
        return [_add_seed(parsed, number) for number in range(parsed.n)]
    return [
        _add_seed(_replace_prompt(parsed, prompt), number)
        for prompt in parsed.prompts
        for number in range(parsed.n)
    ]


def _replace_prompt(parsed: ParsedRequest, prompt: Prompt) -> ParsedRequest:
    echo = {**parsed.echo, "prompt": prompt} if "prompt" in parsed.echo else parsed.echo
    return replace(parsed, generation=replace(parsed.generation, **prompt_fields(prompt)), echo=echo)


def prompt_fields(prompt: Prompt) -> dict[str, Any]:
    """The fields of a `Generation` with this prompt."""
    if isinstance(prompt, str):
        return {"prompt": prompt, "prompt_tokens": ()}
    return {"prompt": "", "prompt_tokens": prompt}


def _add_seed(parsed: ParsedRequest, number: int) -> ParsedRequest:
    generation: Generation = parsed.generation
    if not number or generation.sampling.seed is None:
        return parsed
    seed = (generation.sampling.seed + number - _LEAST_SEED) % _SEEDS + _LEAST_SEED
    sampling = replace(generation.sampling, seed=seed)
    return replace(parsed, generation=replace(generation, sampling=sampling))


def joined_end(ends: Sequence[End], n: int) -> End:
    """One end for all choices, whose usage counts each prompt once (OpenAI API reference, "usage").

    `n` choices have the same prompt; of its tokens so many were cached as all of them had in the cache. The
    wait is the longest one, the engine's time the sum.
    """
    usages, first = [end.usage or Usage() for end in ends], [end.first_ms for end in ends]
    of_prompts = [usages[start : start + n] for start in range(0, len(usages), n)]
    usage = Usage(
        input_tokens=sum(max(usage.input_tokens for usage in group) for group in of_prompts),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cached_tokens=sum(min(usage.cached_tokens for usage in group) for group in of_prompts),
        reasoning_tokens=sum(usage.reasoning_tokens for usage in usages),
    )
    return End(
        "completed",
        usage=usage,
        queue_ms=max(end.queue_ms for end in ends),
        run_ms=sum(end.run_ms for end in ends),
        first_ms=None if None in first else sum(filter(None, first)),
    )


class ChoiceEnds:
    """The ends of an answer's choices, which the renderers of its stream share."""

    __slots__ = ("_ends", "_n")

    def __init__(self, count: int, n: int) -> None:
        self._ends: list[End | None] = [None] * count
        self._n = n

    def add(self, index: int, end: End) -> End | None:
        """Take the end of a choice. Returns one end for all choices once each has ended, else None."""
        self._ends[index] = end
        ends = [end for end in self._ends if end is not None]
        return joined_end(ends, self._n) if len(ends) == len(self._ends) else None
