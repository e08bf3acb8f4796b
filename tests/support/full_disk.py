"""Makes a Redis refuse writes, as one whose disk is full."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from tests.support.waiting import scaled


@contextmanager
def refused_writes(client: redis.Redis, directory: Path) -> Iterator[None]:
    """Let a save of the data in the server's folder fail: the server refuses writes until one succeeds."""
    server: Any = client
    target, before = directory / "dump.rdb", server.config_get("save")["save"]
    target.unlink(missing_ok=True)
    target.mkdir()
    server.config_set("save", "3600 1")
    try:
        _save(server, "err")
        yield
    finally:
        target.rmdir()
        _save(server, "ok")
        server.config_set("save", before)
        target.unlink(missing_ok=True)


def _save(server: Any, wanted: str) -> None:
    """Save the data until the latest save has ended so."""
    deadline = time.monotonic() + scaled(10)
    while True:
        found = server.info("persistence")
        if found["rdb_last_bgsave_status"] == wanted:
            return
        assert time.monotonic() < deadline, found
        if not found["rdb_bgsave_in_progress"]:
            server.bgsave(schedule=True)
        time.sleep(0.02)
