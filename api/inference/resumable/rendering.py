"""The bytes of an answer, made again from its log and what is stored of its request.

An answer has the same bytes each time, in every process: its dialect renders the events and nothing else.
What keeps a silent connection alive is no part of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from api.http.error_rendering import render_error
from api.inference.answer.rendered_event import render_event
from api.inference.chat import dialect as chat
from api.inference.completions import dialect as completions
from api.inference.dialects.base import Dialect, StreamRenderer, decode_metadata, failure_of
from api.inference.llama_server import completion as llama_completion
from api.inference.llama_server import infill as llama_infill
from api.inference.messages import dialect as messages
from api.inference.ollama import chat as ollama_chat
from api.inference.ollama import generate as ollama_generate
from api.inference.responses import dialect as responses
from scheduler.job import JobRow
from streams.events import End, Event, is_end

_ALL: Sequence[Dialect] = (
    *(responses, chat, completions, messages, ollama_chat, ollama_generate),
    *(llama_completion, llama_infill),
)
DIALECTS = {dialect.NAME: dialect for dialect in _ALL}
"""The dialects of answers that can be read again, by name."""


class StreamSize:
    """How many bytes the events of a stream have that were counted so far."""

    def __init__(self, row: JobRow) -> None:
        dialect = DIALECTS[row.dialect]
        self._framing = dialect.FRAMING
        self._renderer: StreamRenderer | None = dialect.stream_renderer(decode_metadata(row))
        self.bytes = len(self._framing.encode(self._renderer.begin()))
        self.events = 0
        """The number of the last event."""

    @property
    def is_final(self) -> bool:
        """Whether the end was counted."""
        return self._renderer is None

    def add(self, event: bytes) -> None:
        """Count the next event, encoded as in the log."""
        if self._renderer is None:
            return
        self.events += 1
        self.bytes += len(render_event(self._renderer, self._framing, event))
        if is_end(event):
            self.bytes += len(self._framing.DONE)
            self._renderer = None


def whole_answer(row: JobRow, events: Sequence[Event]) -> tuple[int, bytes]:
    """The status and the body of an answer in one piece that has ended."""
    dialect, end = DIALECTS[row.dialect], events[-1]
    failure = failure_of(end, dialect) if isinstance(end, End) else None
    if failure is None:
        return 200, orjson.dumps(dialect.response_object(decode_metadata(row), events))
    rendered = render_error(failure, dialect.error_body(failure), row.tenant)
    return rendered.status, orjson.dumps(rendered.body)
