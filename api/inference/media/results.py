"""The results of a job in its folder, read for the answer and by a signed URL.

A signature is the HMAC-SHA-256 of the job's id, the file's name and the end of its validity, under a key that
follows from the platform's secret: any API process makes and checks it.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from api.http.errors import NotFound
from config.settings import Settings
from generation.job_folder import files_root, folder_of, job_path
from governance.cache_namespaces import CacheNamespaces
from scheduler.ledger import Ledger
from store.errors import StorageUnavailable

PURPOSE = b"stoker-media-v1\n"

TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "pcm": "audio/pcm",
}
"""The media types of results, by the end of their names."""


class Results:
    """Finds the results of jobs. All methods but `url` do I/O, for threads."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        namespaces: CacheNamespaces,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._root = files_root(settings)
        self._lifetime_s = settings.responses.retention_s
        self._ledger = ledger
        self._namespaces = namespaces
        self._clock = clock

    def path(self, tenant: str, job: str, name: str) -> Path:
        """The path of a result. Raises `ValueError`."""
        return job_path(self._root, folder_of(tenant, job), name)

    def read(self, tenant: str, job: str, name: str, start: int = 0, end: int | None = None) -> bytes:
        """The bytes of a result from `start` to `end` (None: all). Raises `OSError`, `ValueError`."""
        with self.path(tenant, job, name).open("rb") as file:
            file.seek(start)
            return file.read() if end is None else file.read(end - start)

    def url(self, base: str, job: str, name: str) -> str:
        """The URL of a result, valid as long as a response is kept. Raises `StorageUnavailable`."""
        expires = int(self._clock()) + self._lifetime_s
        signature = self._signature(job, name, expires)
        return f"{base.rstrip('/')}/v1/media/{job}/{name}?expires={expires}&signature={signature}"

    def find(self, job: str, name: str, expires: str, signature: str) -> Path:
        """The path of a signed URL's result. Raises `NotFound` for anything that is not exactly right."""
        is_number = expires.isdecimal() and expires.isascii() and len(expires) <= 12
        if not is_number or int(expires) <= self._clock():
            raise no_such_result()
        expected = self._signature(job, name, int(expires))
        if not hmac.compare_digest(signature.encode(), expected.encode()):
            raise no_such_result()
        tenant = self._ledger.owner(job)
        if tenant is None:
            raise no_such_result()
        try:
            path = self.path(tenant, job, name)
        except ValueError:
            raise no_such_result() from None
        if not path.is_file():
            raise no_such_result()
        return path

    def _signature(self, job: str, name: str, expires: int) -> str:
        key = self._namespaces.derived_key(PURPOSE)
        if key is None:
            raise StorageUnavailable("the platform's secret could not be read yet", retry_after_s=2)
        return hmac.new(key, f"{job}/{name}/{expires}".encode(), hashlib.sha256).hexdigest()


def open_result(path: Path) -> BinaryIO:
    """Open a result. Raises `NotFound` for one that is gone since it was found."""
    try:
        return path.open("rb")
    except OSError:
        raise no_such_result() from None


def no_such_result() -> NotFound:
    """The error for a URL that is altered or expired, or whose result is gone."""
    return NotFound("there is no such file, or its URL is no longer valid", param="id")


def media_type(name: str) -> str:
    """The media type of a result, by its name."""
    return TYPES.get(name.rpartition(".")[2], "application/octet-stream")
