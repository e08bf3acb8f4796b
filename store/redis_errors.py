"""Which errors of Redis pass without a change of the command: one classification for all that talk to it.

A server that refuses a command because of its own state (it is a replica now, loads its data, has too few
replicas, a full disk) is treated as one that cannot be reached: the caller waits and tries again. Only an
error that concerns the command itself is the caller's. An error reply begins with its code (Redis
documentation, "Redis serialization protocol specification", simple errors).
"""

from __future__ import annotations

import re

from redis.exceptions import (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    ConnectionError,
    MasterDownError,
    MovedError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    TimeoutError,
    TryAgainError,
)

from store.errors import StokerError, StorageFull, StorageUnavailable

UNREACHABLE = (ConnectionError, TimeoutError, OSError)

COMMAND_CODES = frozenset(
    {
        "",  # not from the server
        "ERR",
        "BUSYGROUP",
        "BUSYKEY",
        "CROSSSLOT",
        "EXECABORT",
        "INVALIDOBJ",
        "NOGROUP",
        "NOPROTO",
        "NOSCRIPT",
        "NOTBUSY",
        "WRONGTYPE",
    }
)
"""The codes of errors that concern a command. Every other code names a state of the server, which passes."""

FULL_CODES = ("OOM", "MISCONF")

WRITE_CODES = frozenset((*FULL_CODES, "NOREPLICAS", "READONLY"))
"""The codes of a server that refuses writes and answers reads."""

CODES = {
    # a subclass before its base
    MasterDownError: "MASTERDOWN",
    ClusterDownError: "CLUSTERDOWN",
    MovedError: "MOVED",
    AskError: "ASK",
    TryAgainError: "TRYAGAIN",
    ReadOnlyError: "READONLY",
    NoScriptError: "NOSCRIPT",
    NoPermissionError: "NOPERM",
    OutOfMemoryError: "OOM",
    BusyLoadingError: "LOADING",
    AuthenticationError: "NOAUTH",
}
"""The codes that redis-py replaces by a class."""

TEXT_CODE = re.compile(r"(?:Command # .* caused error: )?([A-Z]+)(?: |\Z)", re.DOTALL)
"""The code at the beginning of an error's text. redis-py prefixes the errors of a pipeline."""

STATES = {
    "NOREPLICAS": "refuses writes: fewer replicas are connected to it than min-replicas-to-write asks for",
    "READONLY": "refuses writes: it is a replica",
    "MASTERDOWN": "refuses commands: it is a replica without a connection to its primary",
    "LOADING": "is loading its data",
    "BUSY": "is busy with a script of another program",
    "NOAUTH": "refuses the password in REDIS_URL",
    "NOPERM": "refuses a command to the account in REDIS_URL",
}


def error_code(error: Exception) -> str:
    """Return the code with which Redis began an error reply ("READONLY"); "" if the error is not a reply."""
    if not isinstance(error, RedisError):
        return ""
    for kind, code in CODES.items():
        if isinstance(error, kind):
            return code
    found = TEXT_CODE.match(str(error))
    return found[1] if found else ""


def is_transient(error: object) -> bool:
    """Whether the same command may succeed later: Redis cannot be reached, or its state forbids it."""
    return isinstance(error, UNREACHABLE) or (
        isinstance(error, RedisError) and error_code(error) not in COMMAND_CODES
    )


def refuses_writes(error: StokerError) -> bool:
    """Whether a translated error says that Redis refuses writes at present, so that a read may succeed."""
    return isinstance(error.__cause__, Exception) and error_code(error.__cause__) in WRITE_CODES


def refuses_all_writes(error: StokerError) -> bool:
    """The same of a state in which no script writes: one that is out of memory runs those that free some."""
    return refuses_writes(error) and error_code(error.__cause__) != "OOM"  # type: ignore[arg-type]


def translate_redis_error(error: Exception) -> Exception:
    """Return `StorageUnavailable` or `StorageFull` for a transient error of Redis, any other unchanged."""
    if isinstance(error, StokerError) or not is_transient(error):
        return error
    code = error_code(error)
    if code in FULL_CODES:
        return StorageFull(
            "the shared store (Redis) refuses writes: its memory or disk is full", retry_after_s=10
        )
    if code in COMMAND_CODES:
        return StorageUnavailable(
            "the shared store (Redis) cannot be reached; retry in a moment", retry_after_s=2
        )
    state = STATES.get(code, f"refuses commands in its present state ({code}); retry in a moment")
    return StorageUnavailable(f"the shared store (Redis) {state}", retry_after_s=2)
