"""Requests in the form of llama-server's own routes, for generations that come by them.

`/v1/completions` of the server names neither the stop string that ended an answer nor the ids of its tokens.
Source: tools/server/README.md of llama.cpp, "POST /completion" and "POST /infill".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from backends.base import GenerationError
from backends.shared.chat_stream import ChatParser, count, text
from backends.shared.event_stream import malformed_event
from generation.generation import Generation
from streams.events import Delta, TokenLogprob

PATH, INFILL_PATH = "/completion", "/infill"
WINDOWS = ("repeat_last_n", "dry_penalty_last_n")
"""Parameters with a number of tokens, which the server allocates at once: at most those of the context."""

WHOLE_CONTEXT = -1
REASONS = {"eos": "stop", "word": "stop", "limit": "length"}
BATCH, LEAST_ANSWER = 2048, 64
"""What the server keeps for the texts around a gap, and what is kept for the answer in any case."""

HEAD_TOKENS = 24
"""At most so many tokens are ahead of a file's text, with its name in addition."""

OPENAI_FIELDS = ("logprobs", "top_logprobs", "stream_options", "repeat_last_n")
"""Fields of a request to the server's other routes that mean something else here, or nothing."""


def is_native(generation: Generation) -> bool:
    """Whether a generation is sent to a route of the server's own."""
    return generation.infill is not None or (
        generation.prompt is not None and generation.sampling.llama is not None
    )


def native_path(generation: Generation) -> str:
    """The route of a generation that `is_native`."""
    return PATH if generation.infill is None else INFILL_PATH


def native_body(body: Mapping[str, Any], generation: Generation, context: int) -> dict[str, Any]:
    """The body of a request to a native route, from that of a request to `/v1/completions`."""
    given = bounded_windows(generation.sampling.llama or {}, context)
    body = {name: value for name, value in body.items() if name not in OPENAI_FIELDS} | given
    if (gap := generation.infill) is None:
        return body
    text = {
        "input_extra": [{"filename": name, "text": content} for name, content in gap.extra],
        "input_prefix": generation.prompt,
        "input_suffix": generation.suffix,
        "prompt": gap.begun,
    }
    return text | {name: value for name, value in body.items() if name != "prompt"}


def extra_room(generation: Generation, context: int) -> int:
    """How many tokens the other files of a gap's prompt may have.

    The server takes as many as fit into the context beside its batch, with nothing left for the answer.
    """
    return max(0, context - BATCH - max(LEAST_ANSWER, 2 * (generation.sampling.max_tokens or 0)))


def bounded_windows(given: Mapping[str, Any], context: int) -> dict[str, Any]:
    """The parameters, with windows of at most the context."""
    fields = dict(given)
    for name in WINDOWS:
        if name in fields:
            size = fields[name]
            fields[name] = context if size == WHOLE_CONTEXT else min(size, context)
    return fields


def check_tokens(generation: Generation, size: int | None) -> None:
    """Raise `GenerationError` for a token that a vocabulary of this size (None: unknown) does not have."""
    for part in generation.prompt_tokens:
        if isinstance(part, int) and size is not None and not 0 <= part < size:
            raise GenerationError(
                "invalid_prompt", f"the prompt has the token {part}: the model has the tokens 0 to {size - 1}"
            )


class NativeParser(ChatParser):
    """Parses the stream of a native route. Its deltas are those of a completion."""

    def _deltas(self, chunk: dict[str, Any]) -> list[Delta]:
        """The deltas of one chunk, of which each has the text of one token; the last one has the usage."""
        if progress := chunk.get("prompt_progress"):
            self._input, self._cached = count(progress, "total") or 0, count(progress, "cache") or 0
            return []
        is_last = chunk["stop"]
        for entry in chunk.get("completion_probabilities") or ():
            token = _scored(entry, self._alternatives)
            self._scored.add(token.token, token, token.data)
        deltas: list[Delta] = []
        if content := text(chunk["content"]):
            deltas.append(self._text(content, last=is_last))
        if is_last:
            self._end(chunk)
        self._pieces += len(deltas)
        return deltas

    def _end(self, chunk: dict[str, Any]) -> None:
        self._input = count(chunk, "tokens_evaluated") or 0
        self._output = count(chunk, "tokens_predicted")
        self._cached = count(chunk.get("timings"), "cache_n") or 0
        self.reason = REASONS.get(chunk["stop_type"], "stop")
        self.stop_sequence = text(chunk.get("stopping_word")) or None
        self.done = True

    def _is_plain(self, _chunk: dict[str, Any]) -> bool:
        """Each chunk has a number of its own."""
        return False


def _scored(entry: Mapping[str, Any], alternatives: int = 0) -> TokenLogprob:
    """An entry of `completion_probabilities`, also one after the sampling. Raises as `scored_token`."""
    token, data = text(entry["token"]), bytes(entry["bytes"])
    probability = entry.get("prob")
    logprob = entry["logprob"] if probability is None else _logarithm(probability)
    likeliest = entry.get("top_logprobs") or entry.get("top_probs") or ()
    if type(logprob) not in (float, int) or type(entry["id"]) is not int:
        raise malformed_event()
    return TokenLogprob(
        token,
        float(logprob),
        None if data == token.encode() else data,
        tuple(_scored(one) for one in likeliest[:alternatives]),
        entry["id"],
    )


def _logarithm(probability: float) -> float:
    return math.log(probability) if probability > 0 else -math.inf
