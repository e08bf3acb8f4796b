"""What TGI's `/metrics` say: how many requests run and wait in the server, and the use of its KV cache."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engines.engine_process.process import LOG_NAME

READ_BYTES = 4 << 20  # of the log: the line comes before the first request
TOTAL = re.compile(rb"Setting max batch total tokens to (\d+)")
GAUGE = re.compile(
    rb"^tgi_(batch_current_size|batch_current_max_tokens|queue_size|batch_max_total_tokens)"
    rb"(?:\{[^\n]*\})? ([\d.eE+-]+)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class ServerLoad:
    """How many requests run, how many wait until the cache has room, and the tokens reserved in the cache.

    A server that has had no request yet reports nothing, which is 0.
    """

    running: int = 0
    queued: int = 0
    reserved_tokens: int = 0
    total_tokens: int | None = None
    """The tokens that the cache has room for, from a server that reports it."""

    def cache_use(self, total_tokens: int | None) -> float | None:
        """The share of the cache that is reserved, 0 to 1; `total_tokens` is its size by the log, if any."""
        total = self.total_tokens or total_tokens
        return min(1.0, self.reserved_tokens / total) if total else None


def read_metrics(answer: bytes) -> ServerLoad:
    """Read the answer of `GET /metrics`. Raises `ValueError` for a number in another form."""
    found = {name.decode(): int(float(value)) for name, value in GAUGE.findall(answer)}
    return ServerLoad(
        found.get("batch_current_size", 0),
        found.get("queue_size", 0),
        found.get("batch_current_max_tokens", 0),
        found.get("batch_max_total_tokens") or None,
    )


def cache_tokens(directory: Path) -> int | None:
    """The tokens that the cache has room for, by the log of the load; None if it does not say so."""
    with suppress(OSError), (directory / LOG_NAME).open("rb") as file:
        if found := TOTAL.search(file.read(READ_BYTES)):
            return int(found[1])
    return None
