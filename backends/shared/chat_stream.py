"""Parser of a streamed chat completion: the deltas in its chunks.

Servers differ. Reasoning is `reasoning_content` (llama-server, SGLang, DeepSeek, Stoker), `reasoning` (vLLM,
OpenRouter) or parts of the content (Mistral). Usage comes with the last chunk, with all of them, or not at
all; some chunks with usage have no choices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from backends.base import Emit, GenerationError
from backends.shared.engine.token_queue import TokenQueue
from backends.shared.event_stream import EventStream, malformed_event, parse_json
from backends.shared.text_chunk import EVENT_END, TextChunk
from streams.events import (
    Delta,
    PromptProgress,
    ReasoningDelta,
    ScoredTextDelta,
    TextDelta,
    TokenLogprob,
    ToolCallDelta,
    Usage,
    merge_pieces,
    merge_texts,
)

FINISH_REASONS = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}
FAILURE_REASONS = ("error", "abort")
"""Finish reasons of an attempt that failed: OpenRouter's, vLLM's and SGLang's."""

LARGEST_COUNT = 2**31 - 1
LARGEST_INDEX = 10_000  # of a tool call
SINGLE_EVENTS = 4
"""So many events of a piece are read one by one: then the form of the others is known."""


def engine_failed(_error: Any) -> GenerationError:
    """Return the error for an error event in the middle of an answer."""
    return GenerationError("engine_error", "the engine failed while it answered")


def text(value: Any) -> str:
    """Return a text field's value, "" for null. Raises `TypeError` for any other type."""
    if value is not None and not isinstance(value, str):
        raise TypeError(value)
    return value or ""


def count(usage: Mapping[str, Any] | None, name: str) -> int | None:
    """Return a number of tokens from the usage, None if it is missing or invalid."""
    value = (usage or {}).get(name)
    return min(value, LARGEST_COUNT) if type(value) is int and value >= 0 else None


def scored_token(entry: Mapping[str, Any], alternatives: int = 0) -> TokenLogprob:
    """Return an entry of `logprobs.content`, with at most `alternatives` of its `top_logprobs`.

    Raises `LookupError`, `TypeError` or `ValueError` for an entry in another form.
    """
    token, logprob, data = text(entry["token"]), entry["logprob"], entry.get("bytes")
    if type(logprob) not in (float, int):
        raise TypeError(logprob)
    whole = None if data is None else bytes(data)
    if whole == token.encode("utf-8", "replace"):
        whole = None
    # vLLM puts the chosen token before the likeliest ones
    top = sorted(
        map(scored_token, entry.get("top_logprobs") or ()), key=lambda token_logprob: -token_logprob.logprob
    )
    return TokenLogprob(token, float(logprob), whole, tuple(top[:alternatives]))


def scored_tokens(logprobs: Mapping[str, Any], alternatives: int) -> list[TokenLogprob]:
    """Return the tokens of a choice's `logprobs`: of a chat completion, or of a completion in OpenAI's form.

    Raises `LookupError`, `TypeError` or `ValueError` for another form.
    """
    if (tokens := logprobs.get("tokens")) is None:
        return [scored_token(entry, alternatives) for entry in logprobs.get("content") or ()]
    likeliest = logprobs.get("top_logprobs") or [None] * len(tokens)
    entries = zip(tokens, logprobs["token_logprobs"], likeliest, strict=True)
    return [
        scored_token(
            {
                "token": token,
                "logprob": logprob,
                "top_logprobs": [{"token": text, "logprob": p} for text, p in (top or {}).items()],
            },
            alternatives,
        )
        for token, logprob, top in entries
    ]


class ChatParser:
    """Parses one event stream: emits its deltas, and holds the finish reason and the usage.

    `stream_error` makes the exception for an error event. Of the log probabilities, which come only if the
    request asks for them, those of the answer's text are emitted, each token with `alternatives` of its
    likeliest ones. With `text_lags` the text may come later than its tokens; then an answer after reasoning
    has none, since it is not known which tokens are the first of its text. With `reports_progress` what the
    server says of the prompt is emitted, too.
    """

    def __init__(
        self,
        emit: Emit,
        stream_error: Callable[[Any], GenerationError] = engine_failed,
        *,
        alternatives: int = 0,
        text_lags: bool = False,
        reports_progress: bool = False,
    ) -> None:
        self.reason: str | None = None
        self.stop_sequence: str | None = None
        """The stop string that ended the answer, from a server that names it (vLLM's `stop_reason`)."""
        self.done = False
        """Whether the last event has arrived."""
        self.stopped = False
        """Whether the answer is complete although the server continues it."""
        self.answer_id: str | None = None
        """The server's id of the answer."""
        self._emit = emit
        self._reports_progress = reports_progress
        self._stream_error = stream_error
        self._input = 0
        self._cached = 0
        self._output: int | None = None
        self._pieces = 0
        self._reasoning = 0
        self._calls: dict[tuple[int, str], int] = {}
        self._latest: dict[int, int] = {}
        self._alternatives = alternatives
        self._text_lags = text_lags
        self._scored: TokenQueue[TokenLogprob] = TokenQueue(lags=text_lags)
        self._in_reasoning = False
        self._text_chunk = TextChunk()
        self._events = EventStream()

    @property
    def usage(self) -> Usage:
        """The usage that the server reported; until then (a cancelled answer), the pieces counted here."""
        output = self._pieces if self._output is None else self._output
        return Usage(self._input, output, self._cached, self._reasoning)

    def feed(self, piece: bytes) -> None:
        """Take the next piece of the body; pieces of text are emitted together.

        Raises `GenerationError` for an error event or malformed data, after the deltas before it.
        """
        deltas: list[Delta] = []
        singly = SINGLE_EVENTS
        try:
            while piece and not self.done:
                if not self._events.is_amid_line:
                    texts, piece = self._text_chunk.leading_texts(piece)
                    if texts:
                        deltas += self._text_deltas(texts)
                        continue
                end = piece.find(EVENT_END) + len(EVENT_END) if singly else 0
                if end < len(EVENT_END):
                    end = len(piece)
                singly -= 1
                self._read_events(self._events.feed(piece[:end]), deltas)
                piece = piece[end:]
        finally:
            for delta in merge_pieces(deltas):
                self._emit(delta)

    def _read_events(self, events: Sequence[bytes], deltas: list[Delta]) -> None:
        """Add the deltas of events, up to the one that fails."""
        texts: list[str] = []
        text_of = self._text_chunk.text_of
        try:
            for data in events:
                if (content := text_of(data)) is not None:
                    texts.append(content)
                    continue
                if data == b"[DONE]":
                    self.done = True
                    break
                if texts:
                    deltas += self._text_deltas(texts)
                    texts.clear()
                deltas += self._read(data)
        finally:
            if texts:
                deltas += self._text_deltas(texts)

    def _text_deltas(self, texts: Sequence[str]) -> list[Delta]:
        """Return the deltas of chunks that were not parsed."""
        self._pieces += len(texts)
        return list(merge_texts(TextDelta, texts))

    def _read(self, data: bytes) -> list[Delta]:
        """Return the deltas of one event."""
        try:
            chunk = parse_json(data)
            error = chunk.get("error")
            deltas = [] if error else self._deltas(chunk)
        except (ValueError, LookupError, TypeError, AttributeError) as malformed:
            raise malformed_event() from malformed
        if error:
            raise self._stream_error(error)
        if len(deltas) == 1 and type(deltas[0]) is TextDelta and self._is_plain(chunk):
            self._text_chunk.learn(data, deltas[0].text)
        else:
            self._text_chunk.forget()
        return deltas

    def _is_plain(self, chunk: dict[str, Any]) -> bool:
        """Whether the same chunk with another text would change nothing but the text.

        What else its bytes say is the same again; only log probabilities depend on what came before.
        """
        has_scores = any(choice.get("logprobs") for choice in chunk["choices"])
        return self._scored.is_empty and not has_scores

    def _deltas(self, chunk: dict[str, Any]) -> list[Delta]:
        deltas: list[Delta] = []
        if self.answer_id is None:
            self.answer_id = text(chunk.get("id")) or None
        usage = chunk.get("usage")
        if usage or "prompt_progress" in chunk:
            self._count(chunk)
        choices = chunk.get("choices") if usage else chunk["choices"]
        for choice in choices or ():
            # a completion has its text in the choice itself
            delta = choice.get("delta") or {"content": choice.get("text")}
            if logprobs := choice.get("logprobs"):
                for token in scored_tokens(logprobs, self._alternatives):
                    self._scored.add(token.token, token, token.data)
            self._choice(delta, deltas, last=bool(choice.get("finish_reason")))
            if reason := choice.get("finish_reason"):
                if reason in FAILURE_REASONS:
                    raise self._stream_error({"message": f"finish_reason is {reason}"})
                self.reason = FINISH_REASONS.get(reason, "stop")
                ended_by = choice.get("stop_reason")  # the number of a token, or the text of a stop string
                self.stop_sequence = ended_by if isinstance(ended_by, str) else None
        self._pieces += len(deltas)
        if self._reports_progress and (progress := chunk.get("prompt_progress")):
            names = ("total", "cache", "processed", "time_ms")
            deltas.insert(0, PromptProgress(*[count(progress, name) or 0 for name in names]))
        return deltas

    def _choice(self, delta: dict[str, Any], deltas: list[Delta], *, last: bool) -> None:
        if reasoning := text(delta.get("reasoning_content") or delta.get("reasoning")):
            self._reasoning += 1
            self._in_reasoning = True
            deltas.append(ReasoningDelta(reasoning))
        content = delta.get("content")
        if isinstance(content, list):
            self._parts(content, deltas)
        elif content := text(content) or text(delta.get("refusal")):
            deltas.append(self._text(content, last=last))
        elif self._in_reasoning and reasoning:
            self._scored.clear()
        for call in delta.get("tool_calls") or ():
            self._scored.clear()
            function = call.get("function") or {}
            id, name = text(call.get("id")) or None, text(function.get("name")) or None
            deltas.append(ToolCallDelta(self._index(call, id), text(function.get("arguments")), id, name))

    def _text(self, content: str, *, last: bool) -> Delta:
        """Return the delta of a piece of text, with its tokens if the server sends them."""
        if self._in_reasoning:  # the first tokens after it may be those of its end
            self._scored.keep_last(content)
            if self._text_lags:
                return TextDelta(content)
            self._in_reasoning = False
        tokens = self._scored.take(content, last=last)
        return ScoredTextDelta(content, tuple(tokens)) if tokens else TextDelta(content)

    def _parts(self, content: list[dict[str, Any]], deltas: list[Delta]) -> None:
        """Read Mistral's content parts: reasoning and text. References are left out."""
        for part in content:
            if part["type"] == "thinking":
                if reasoning := "".join(text(piece.get("text")) for piece in part["thinking"]):
                    self._reasoning += 1
                    deltas.append(ReasoningDelta(reasoning))
            elif part["type"] == "text" and (content_text := text(part["text"])):
                deltas.append(TextDelta(content_text))

    def _index(self, call: dict[str, Any], id: str | None) -> int:
        """Return the call's index. Some servers number several calls alike; their ids distinguish them."""
        number = call.get("index") or 0
        if type(number) is not int or not 0 <= number <= LARGEST_INDEX:
            raise TypeError(number)
        if id is None:
            return self._latest.get(number, number)
        if (number, id) not in self._calls:
            used = self._calls.values()
            self._calls[number, id] = max(used) + 1 if number in used else number
        self._latest[number] = self._calls[number, id]
        return self._latest[number]

    def _count(self, chunk: dict[str, Any]) -> None:
        if progress := chunk.get("prompt_progress"):  # llama-server, long before the usage
            self._input, self._cached = count(progress, "total") or 0, count(progress, "cache") or 0
        if usage := chunk.get("usage"):
            self._input = count(usage, "prompt_tokens") or 0
            self._output = count(usage, "completion_tokens")
            cached = count(usage.get("prompt_tokens_details"), "cached_tokens")
            self._cached = (count(chunk.get("timings"), "cache_n") or 0) if cached is None else cached
            reasoning = count(usage.get("completion_tokens_details"), "reasoning_tokens")
            self._reasoning = self._reasoning if reasoning is None else reasoning
