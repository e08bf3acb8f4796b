"""A process that records events, and kills itself at a point between the file and Redis.

Arguments: URL of Redis, prefix, folder, name, number of events, the point ("" for none).
"""

from __future__ import annotations

import os
import signal
import stat
import sys
from pathlib import Path
from typing import Any

from config.settings import RedisSettings, Settings
from governance.audit import AuditEvent, AuditLog, chain_file
from store.redis_connections import command_client

POINTS = ("before the file", "within a line", "before the sync", "after the file", "after Redis")


def kill_at(point: str, audit: AuditLog) -> None:
    """Make the process kill itself at its second batch."""
    write, fsync, append = os.write, os.fsync, audit.store.append
    seen = {"write": 0, "fsync": 0, "append": 0}

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def is_second(name: str) -> bool:
        seen[name] += 1
        return seen[name] == 2

    def killing_write(handle: int, data: bytes) -> int:
        if is_second("write"):
            if point == "within a line":
                write(handle, data[: len(data) // 2])
                die()
            if point == "before the file":
                die()
        return write(handle, data)

    def killing_fsync(handle: int) -> None:
        # the folder of a new file is synchronised, too
        if point == "before the sync" and stat.S_ISREG(os.fstat(handle).st_mode) and is_second("fsync"):
            die()
        fsync(handle)

    def killing_append(*arguments: Any) -> bool:
        second = is_second("append")
        if second and point == "after the file":
            die()
        done = append(*arguments)
        if second and point == "after Redis":
            die()
        return done

    chain_file.os.write, chain_file.os.fsync = killing_write, killing_fsync  # type: ignore[assignment]
    audit.store.append = killing_append  # type: ignore[method-assign]


def main(arguments: list[str]) -> None:
    """Record the events, one at a time."""
    url, prefix, folder, name, count, point = arguments
    settings = Settings(redis=RedisSettings(url, prefix))
    audit = AuditLog(command_client(settings), prefix, Path(folder))
    if point:
        kill_at(point, audit)
    for number in range(int(count)):
        audit.record(AuditEvent(name, "op token", "load", f"{name}-{number}", "refused"))


if __name__ == "__main__":
    main(sys.argv[1:])
