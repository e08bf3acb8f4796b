"""What the engines of a model print: a stream in Redis for each model, with the latest lines of a day.

Workers append to it (`workers/engine_log_shipper.py`) with `lua/append_engine_log.lua`, which has its bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fleet.state_changes import position
from store.scripts import Scripts, redis_errors_translated


@dataclass(frozen=True, slots=True)
class LogOrigin:
    """Whose lines these are. `operation` is the load that started the replica, "" if none did."""

    model: str
    replica: str
    worker: str
    operation: str


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line that an engine printed.

    `id` is its position in the stream, `at` the time at which it came (unix seconds, by Redis' clock). With
    `omitted_bytes` it is no line: so many bytes of the engine's output were left out here, and `text` is "".
    """

    id: str
    at: float
    origin: LogOrigin
    text: str
    omitted_bytes: int


@dataclass(frozen=True, slots=True)
class LogPage:
    """Some lines, the oldest first.

    `last` is the id of the last line that was looked at, after which the next page begins; None if there is
    none. `has_more`: there are more lines after it. `has_gap`: lines that followed the position of the
    request may have been removed before this reading.
    """

    lines: tuple[LogLine, ...]
    last: str | None
    has_more: bool
    has_gap: bool


class EngineLogs:
    """Appends to the logs, and reads them. Methods raise `StorageUnavailable`."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    def append(self, call: str, origin: LogOrigin, lines: Sequence[str], omitted_bytes: int = 0) -> None:
        """Append lines, after a remark on the bytes that were left out before them.

        A repetition with the same id `call` within a minute appends nothing.
        """
        self._scripts.run(
            "append_engine_log",
            call=call,
            model=origin.model,
            replica=origin.replica,
            worker=origin.worker,
            operation=origin.operation,
            omitted_bytes=omitted_bytes,
            lines=lines,
        )

    def has(self, model: str) -> bool:
        """Whether there is a log of this model."""
        with redis_errors_translated():
            return bool(self._scripts.client.exists(self._key(model)))

    def _key(self, model: str) -> str:
        return f"{self._scripts.prefix}engine_log:{model}"

    def read(
        self,
        model: str,
        limit: int,
        *,
        after: str = "",
        replica: str | None = None,
        operation: str | None = None,
    ) -> LogPage:
        """Up to `limit` lines after the id `after`; without it the latest ones.

        `replica` and `operation`: only the lines of this replica, and of the replicas that this load started.
        """
        is_filtered = replica is not None or operation is not None
        key, client = self._key(model), self._scripts.client
        has_gap = False
        with redis_errors_translated():
            if after:
                entries = client.xrange(key, min=after, count=None if is_filtered else limit + 2)
                oldest = client.xrange(key, count=1)
                has_gap = bool(oldest) and position(oldest[0][0].decode()) > position(after)
            else:
                entries = client.xrevrange(key, count=None if is_filtered else max(1, limit))[::-1]
        lines = [_parse(model, id.decode(), fields) for id, fields in entries]
        if after:
            lines = [line for line in lines if position(line.id) > position(after)]
        looked_at = lines[-1].id if lines else after or None
        wanted = [
            line
            for line in lines
            if replica in (None, line.origin.replica) and operation in (None, line.origin.operation)
        ]
        if not after:
            latest = tuple(wanted[max(0, len(wanted) - limit) :])
            return LogPage(latest, looked_at, has_more=False, has_gap=False)
        page = tuple(wanted[:limit])
        has_more = len(wanted) > limit
        last = (page[-1].id if page else after) if has_more else looked_at
        return LogPage(page, last, has_more, has_gap)


def _parse(model: str, id: str, fields: dict[bytes, Any]) -> LogLine:
    replica, worker, operation, text = (fields[name].decode() for name in (b"r", b"w", b"o", b"t"))
    origin = LogOrigin(model, replica, worker, operation)
    return LogLine(id, position(id)[0] / 1000, origin, text, int(fields[b"b"]))
