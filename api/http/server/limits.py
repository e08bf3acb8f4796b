"""The limits of one API process: what a client may hold, and for how long."""

from __future__ import annotations

import logging
import resource
from dataclasses import dataclass

from config.settings import ApiSettings

logger = logging.getLogger("api")

KEYLESS_BODY_BYTES = 64 * 1024
"""The largest body before the caller's key is checked; also the largest that a view parses on the loop."""

MAX_HEADER_FIELDS = 100
MAX_TARGET_BYTES = 8192
"""The largest target of a request: path and query. RFC 9112, 3, recommends at least 8000."""

MAX_AHEAD_BYTES = 64 * 1024
"""Reading pauses when more bytes have come while a request is answered; the last read may exceed it."""

MAX_ANSWERS_IN_TURN = 32
"""Requests of one connection that are answered before other connections have their turn."""

RESERVED_FILES = 256
"""File descriptors for everything but clients: Redis, the log, libraries."""


@dataclass(frozen=True)
class Limits:
    """Times in seconds, sizes in bytes."""

    head_timeout_s: float = 10.0
    body_timeout_s: float = 30.0
    min_body_rate: int = 1024
    """Bytes per second that a body arrives at, averaged over its time, from `rate_grace_s` on.

    Even a modem sends several times as much: a slower body only holds the connection."""
    rate_grace_s: float = 5.0
    idle_timeout_s: float = 75.0
    """How long an idle connection stays open: longer than in most clients, so that the client closes it."""
    write_timeout_s: float = 30.0
    linger_s: float = 2.0
    """How long the rest of a refused request is read and dropped, so that its sender can read the refusal."""
    max_head_bytes: int = 64 * 1024
    """Well above the 8 to 32 KiB that proxies pass on; clients of this API send less than one."""
    max_body_bytes: int = 8 * 1024 * 1024
    max_pending_body_bytes: int = 256 * 1024 * 1024
    max_unsent_bytes: int = 256 * 1024 * 1024
    """Of all answers that wait for their clients to read; a whole answer may have `limits.max_log_bytes`."""
    max_unanswered_bytes: int = 128 * 1024 * 1024
    """Of all heads that wait for their body or their end, and of all requests behind one being answered."""
    max_unread_s: float = 0.1
    """How long the request of a new connection may be here before it is read, when many have come at once."""
    max_connections: int = 16_384
    max_connections_per_address: int = 12_288

    @property
    def sweep_s(self) -> float:
        """The interval of the check for passed deadlines."""
        shortest = min(self.head_timeout_s, self.body_timeout_s, self.rate_grace_s, self.write_timeout_s)
        return min(1.0, max(0.02, shortest / 4))


def limits_of(api: ApiSettings) -> Limits:
    """The limits for these settings, within the number of files that this process may open."""
    connections = min(api.max_connections, _raise_file_limit(api.max_connections))
    per_address = api.max_connections_per_address or connections * 3 // 4
    return Limits(
        head_timeout_s=api.head_timeout_s,
        body_timeout_s=api.body_timeout_s,
        write_timeout_s=api.write_timeout_s,
        max_body_bytes=api.max_body_bytes,
        max_pending_body_bytes=api.max_pending_body_bytes,
        max_connections=connections,
        max_connections_per_address=min(per_address, connections),
    )


def _raise_file_limit(wanted: int) -> int:
    """Raise the soft limit of open files to the hard one; return how many connections it leaves room for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
        except (OSError, ValueError):
            pass  # macOS reports a hard limit that it does not accept
    if soft == resource.RLIM_INFINITY:
        return wanted
    room = max(soft - RESERVED_FILES, soft // 2)
    if room < wanted:
        logger.warning(
            "api.max_connections is %d, but the process may open only %d files: it accepts %d connections",
            wanted,
            soft,
            room,
        )
    return room
