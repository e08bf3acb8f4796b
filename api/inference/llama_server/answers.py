"""The answers of llama-server's native routes, in one piece and as chunks, with its names of the fields.

They are made of the event log and the stored echo alone, so that a stream that is read again has the same
bytes. What these do not have is left out (docs/llama-server.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from api.http.error_rendering import llama_server_body
from api.http.errors import error_from_end
from api.http.frames import Frame
from api.inference.dialects.base import ResponseMetadata
from api.inference.dialects.measurements import measurements
from api.inference.dialects.output import has_failed
from api.inference.llama_server.llama_sampling import generation_settings
from api.inference.llama_server.timings import timings
from streams.events import LEAST_LOGPROB, End, Event, ScoredTextDelta, TextDelta, TokenLogprob, Usage

NO_SLOT = -1
"""The `id_slot` of an answer: slots belong to the platform."""


def wants(echo: Mapping[str, Any], name: str) -> bool:
    """Whether an answer has a field, or a part of it."""
    paths = echo.get("fields")
    return not paths or any(path.partition("/")[0] == name for path in paths)


class _Answer:
    """What the events of a response have given so far."""

    def __init__(self, echo: Mapping[str, Any]) -> None:
        self._echo = echo
        self.predicted = 0
        self.has_new_line = False

    def add(self, text: str, tokens: int = 1) -> None:
        """Count a piece of the text, which has so many tokens."""
        self.predicted += tokens
        self.has_new_line = self.has_new_line or "\n" in text

    def probabilities(self, tokens: Sequence[TokenLogprob]) -> dict[str, Any]:
        """The member `completion_probabilities`, if the request asks for it."""
        if not tokens or "probs" not in self._echo:
            return {}
        return {"completion_probabilities": [self._probability(token) for token in tokens]}

    def ids(self, tokens: Sequence[TokenLogprob]) -> list[int]:
        """The ids of tokens, if the request asks for them."""
        return [token.id for token in tokens if token.id is not None] if "ids" in self._echo else []

    def _probability(self, token: TokenLogprob) -> dict[str, Any]:
        name = "top_probs" if "sampled" in self._echo else "top_logprobs"
        return {**self._token(token), name: [self._token(alternative) for alternative in token.top]}

    def _token(self, token: TokenLogprob) -> dict[str, Any]:
        text = token.token if token.data is None else token.data.decode("utf-8", "ignore")
        form = {"id": token.id, "token": text, "bytes": token.bytes}
        if "sampled" not in self._echo:
            return {**form, "logprob": token.logprob}
        return {**form, "prob": math.exp(token.logprob) if token.logprob > LEAST_LOGPROB else 0.0}


def whole_answer(metadata: ResponseMetadata, events: Iterable[Event], index: int) -> dict[str, Any]:
    """The answer in one piece."""
    answer = _Answer(metadata.echo)
    pieces: list[str] = []
    tokens: list[TokenLogprob] = []
    end = End("completed")
    for event in events:
        if isinstance(event, TextDelta | ScoredTextDelta):
            pieces.append(event.text)
            tokens += event.tokens if isinstance(event, ScoredTextDelta) else ()
        elif isinstance(event, End):
            end = event
    text = "".join(pieces)
    answer.add(text)
    whole = _last(metadata, index, answer, end, text, answer.ids(tokens)) | answer.probabilities(tokens)
    return _selected(whole, metadata.echo)


def _last(  # noqa: PLR0913, PLR0917 - all that an answer consists of
    metadata: ResponseMetadata, index: int, answer: _Answer, end: End, text: str, ids: list[int]
) -> dict[str, Any]:
    """The fields of an answer, and of the last chunk of a stream."""
    echo, usage = metadata.echo, end.usage or Usage()
    made = {
        "index": index,
        "content": text,
        "tokens": ids,
        "id_slot": NO_SLOT,
        "stop": True,
        "model": metadata.model,
        "tokens_predicted": usage.output_tokens,
        "tokens_evaluated": usage.input_tokens,
    }
    if wants(echo, "generation_settings"):
        made["generation_settings"] = generation_settings(echo.get("settings", {}))
    if "prompt" in echo:
        made["prompt"] = echo["prompt"]
    stop_type, limit = _stop_type(end), echo.get("n_predict")
    is_cut = stop_type == "limit" and (limit is None or usage.output_tokens < limit)
    return {
        **made,
        "has_new_line": answer.has_new_line,
        "truncated": is_cut and "by_lines" not in echo,
        "stop_type": stop_type,
        "stopping_word": end.stop_sequence or "",
        "tokens_cached": max(0, usage.input_tokens + usage.output_tokens - 1),
        "timings": timings(end),
    }


def _stop_type(end: End) -> str:
    if end.status == "incomplete":
        return "limit"
    if end.stop_sequence is not None:
        return "word"
    return "eos" if end.usage is not None and end.usage.output_tokens else "none"


def _selected(answer: dict[str, Any], echo: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that `response_fields` names by their paths, each under its path; all without any."""
    paths = echo.get("fields")
    if not paths:
        return answer
    selected = {}
    for path in paths:
        value: Any = answer
        for name in path.split("/"):
            value = value.get(name, _MISSING) if isinstance(value, dict) else _MISSING
        if value is not _MISSING:
            selected[path] = value
    return selected


_MISSING = object()


class NativeRenderer:
    """Renders one choice of an answer as chunks, each with a piece of the text."""

    def __init__(self, metadata: ResponseMetadata, index: int) -> None:
        self._metadata = metadata
        self._index = index
        self._answer = _Answer(metadata.echo)
        self._chunk_start = b'data: {"index":%d,"content":' % index

    def begin(self) -> list[Frame]:
        """Return nothing: a stream begins with its first text."""
        return []

    def render(self, event: Event) -> list[Frame]:
        """Return the chunk of one event; a failed or cancelled end becomes an error."""
        if isinstance(event, TextDelta):
            self._answer.add(event.text)
            return [("", self._chunk(event.text, ()))]
        if isinstance(event, ScoredTextDelta):
            self._answer.add(event.text, len(event.tokens))
            return [("", self._chunk(event.text, event.tokens))]
        if not isinstance(event, End):
            return []
        if has_failed(event):
            return [("", {**llama_server_body(error_from_end(event)), **measurements(event)})]
        last = _last(self._metadata, self._index, self._answer, event, "", [])
        if self._metadata.echo.get("fields"):
            return [("", _selected(last, self._metadata.echo))]
        return [("", {**last, **measurements(event)})]

    def render_text(self, text: str) -> bytes:
        """Return the encoded chunk of a text."""
        if not text:
            return b""
        self._answer.add(text)
        predicted = self._answer.predicted
        return b'%b%b,"tokens":[],"stop":false,"id_slot":%d,"tokens_predicted":%d}\n\n' % (
            self._chunk_start,
            orjson.dumps(text),
            NO_SLOT,
            predicted,
        )

    def _chunk(self, text: str, tokens: Sequence[TokenLogprob]) -> dict[str, Any]:
        return {
            "index": self._index,
            "content": text,
            "tokens": self._answer.ids(tokens),
            "stop": False,
            "id_slot": NO_SLOT,
            "tokens_predicted": self._answer.predicted,
            **self._answer.probabilities(tokens),
        }
