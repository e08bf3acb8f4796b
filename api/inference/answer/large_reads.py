"""The turns of requests that read much more than they send: a response's log, an earlier conversation."""

from __future__ import annotations

from api.http.errors import TooManyStreams
from api.http.fair_semaphore import FairSemaphore, Limit
from store.errors import ServerBusy, StokerError

MIB = 1024 * 1024
RETRY_S = 2

JOINS_OF_TENANT = Limit(running=1, requests=256, bytes=64 * MIB)
JOINS_OF_ALL = Limit(running=16, requests=2_048, bytes=256 * MIB)
"""The bytes are those of the requests. A conversation is read in the turn only."""

LOG_READS_OF_TENANT = Limit(running=2, requests=1_024)
LOG_READS_OF_ALL = Limit(running=4, requests=8_192)
"""Each read takes some milliseconds of the loop."""


class ConversationJoins(FairSemaphore):
    """The turns of one process to read and join an earlier conversation: much work for a small request.

    Refuses with `TooManyStreams` and `ServerBusy`, as `LogReads` does. A turn may need one of those.
    """

    def __init__(self) -> None:
        super().__init__(JOINS_OF_TENANT, JOINS_OF_ALL, _refused)


class LogReads(FairSemaphore):
    """The turns of one process to read and render a whole log, so that other requests come in between."""

    def __init__(self) -> None:
        super().__init__(LOG_READS_OF_TENANT, LOG_READS_OF_ALL, _refused)


def _refused(by_tenant: bool) -> StokerError:
    if by_tenant:
        message = "too many of the tenant's requests are waiting for stored responses and conversations"
        return TooManyStreams(message, retry_after_s=RETRY_S)
    return ServerBusy(
        "too many requests are waiting for stored responses and conversations", retry_after_s=RETRY_S
    )
