"""Whether a worker has the folder of files of the API's processes, which jobs of audio and images need.

The folder has a mark, a random text that the first process to look for it writes. An API process notes it in
Redis, and a worker compares it before it loads a model of audio or images. On one host it is always the same.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path

import redis

from store.scripts import redis_errors_translated

MARK = "mark"


class OtherFolder(Exception):
    """Raised when the worker's folder is not that of the API's processes; the text says what to do."""


def mark_of(root: Path) -> str:
    """The mark of a folder of files, which is made if it is missing. Raises `OSError`."""
    path = root / MARK
    with suppress(FileNotFoundError):
        return path.read_text()
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = root / f"{MARK}.{secrets.token_hex(8)}"
    own.write_text(secrets.token_hex(16))
    try:
        with suppress(FileExistsError):
            path.hardlink_to(own)  # it appears with its content
    finally:
        own.unlink()
    return path.read_text()


def note_mark(client: redis.Redis, prefix: str, root: Path) -> None:
    """Note the mark of an API process's folder. Raises `OSError`, `StorageUnavailable`."""
    mark = mark_of(root)
    with redis_errors_translated():
        if client.get(_key(prefix)) != mark.encode():  # a read costs replicas and the disk nothing
            client.set(_key(prefix), mark)


def check_mark(client: redis.Redis, prefix: str, root: Path) -> None:
    """Check a worker's folder, if an API process has noted its own.

    Raises `OtherFolder`, `OSError`, `StorageUnavailable`.
    """
    with redis_errors_translated():
        noted = client.get(_key(prefix))
    if noted is not None and noted.decode() != mark_of(root):  # type: ignore[union-attr]
        raise OtherFolder(
            f"{root} of this worker is not the folder of the API's processes: let both share it, as"
            " docs/several-hosts.md says"
        )


def _key(prefix: str) -> str:
    return f"{{{prefix}}}:files_mark"
