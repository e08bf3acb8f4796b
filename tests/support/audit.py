"""The audit chain of a test's platform."""

from __future__ import annotations

from collections.abc import Callable

from config.settings import Settings
from governance.audit import AUDIT_FOLDER, AuditLog
from store.redis_connections import command_client


def audit_of(settings: Settings) -> AuditLog:
    """The audit chain."""
    return AuditLog(command_client(settings), settings.redis.prefix, settings.data_dir / AUDIT_FOLDER)


def change_in_redis(audit: AuditLog, number: int, change: Callable[[bytes], bytes]) -> None:
    """Change the bytes of one record in Redis at once: no process sees another end of the chain."""
    store = audit.store
    pipeline = store._client.pipeline(transaction=True)
    entries = list(store.all())
    pipeline.delete(store.chain_key)
    for one in entries:
        line = change(one.line) if one.number == number else one.line
        pipeline.xadd(store.chain_key, {"record": line, "digest": one.digest}, id=f"{one.number}-0")
    pipeline.execute()
