"""The turns of requests that read an earlier conversation, which may be much for a small request."""

from __future__ import annotations

from api.errors import TooManyStreams
from api.tenant_turns import Most, TenantTurns
from scheduler.errors import ServerBusy, StokerError

MIB = 1024 * 1024
OF_TENANT = Most(running=1, requests=256, bytes=64 * MIB)
OF_ALL = Most(running=16, requests=2_048, bytes=256 * MIB)
"""The bytes are those of the requests. A conversation is read in the turn only."""

RETRY_S = 2


def join_turns() -> TenantTurns:
    """The turns of one process. Refuses with `TooManyStreams` and `ServerBusy`."""
    return TenantTurns(OF_TENANT, OF_ALL, _refused)


def _refused(by_tenant: bool) -> StokerError:
    if by_tenant:
        message = "too many requests of the tenant wait for an earlier conversation"
        return TooManyStreams(message, retry_after_s=RETRY_S)
    return ServerBusy("too many requests wait for an earlier conversation", retry_after_s=RETRY_S)
