"""The file of the registered models, which keeps them when Redis loses them: `<data_dir>/models.json`.

`{"format": 1, "revision": n, "models": {name: definition}}`, the definitions as Redis has them. Of the file
and Redis the one with the higher revision wins. Only API processes and `stoker up` write it.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from fleet.dynamic_model import is_name
from fleet.worker_reports import MAX_REGISTERED
from store.scripts import Scripts, redis_errors_translated

logger = logging.getLogger("fleet")

FILE, LOCK_FILE = "models.json", "models.json.lock"
FORMAT = 1
MAX_BYTES = 128 * 1024 * 1024
AGAIN_S = 10.0
"""How long after a problem the file is looked at again."""

WITHOUT = "; models that are added meanwhile are kept in Redis alone"


class Unusable(Exception):
    """Raised for a file that cannot be used; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The content of a file: the definitions, as JSON objects, by name."""

    revision: int = 0
    models: Mapping[str, Any] = field(default_factory=dict)


class ModelsFile:
    """The file in one data folder. `sync` is for one thread at a time."""

    def __init__(self, data_dir: Path, scripts: Scripts) -> None:
        self.path = data_dir / FILE
        self.revision_key = f"{scripts.prefix}registered_revision"
        self._scripts = scripts
        self._lock_path = data_dir / LOCK_FILE
        self._seen = (-1, (0, 0))  # the revision that both had, and the file then
        self._again_at = 0.0
        self.problem: str | None = None
        """Why the file is not used at the moment, in one sentence that says what to do."""

    def is_due(self, revision: bytes | None) -> bool:
        """Whether `sync` should be called when Redis has this revision; not soon after a problem."""
        is_new = (int(revision or 0), self._version()) != self._seen
        return is_new and time.monotonic() >= self._again_at

    def sync(self) -> None:
        """Bring the file and Redis to the higher revision of both. Raises `StorageUnavailable`."""
        with redis_errors_translated():
            current = int(self._scripts.client.get(self.revision_key) or 0)
        if (current, self._version()) == self._seen:
            return
        try:
            with self._locked():
                self._seen = self._sync(current), self._version()
        except (Unusable, OSError) as error:
            self._again_at = time.monotonic() + AGAIN_S
            text = str(error) if isinstance(error, Unusable) else self._refused(error)
            if text != self.problem:
                logger.warning("%s", text)
            self.problem = text
        else:
            if self.problem is not None:
                logger.info("%s is in use again", self.path)
            self.problem = None

    def read(self) -> Stored:
        """The content; an empty one without a file. Raises `Unusable`, `OSError`."""
        try:
            with self.path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            return Stored()
        try:
            raw = orjson.loads(data if len(data) <= MAX_BYTES else b"")
            format = raw["format"]
            if isinstance(format, int) and format > FORMAT:
                raise Unusable(
                    f"{self.path} was written by a later version of Stoker: update this one, or move the "
                    f"file away, which forgets the models in it{WITHOUT}"
                )
            models = {name: _checked(name, definition) for name, definition in raw["models"].items()}
            if format != FORMAT or len(models) > MAX_REGISTERED:
                raise ValueError
            return Stored(int(raw["revision"]), models)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Unusable(
                f"{self.path} is damaged: restore it from a copy, or move it away, which forgets the models "
                f"in it{WITHOUT}"
            ) from None

    def _version(self) -> tuple[int, int]:
        """Another value after each change of the file, which another process may have written."""
        try:
            status = self.path.stat()
        except OSError:
            return 0, 0
        return status.st_ino, status.st_mtime_ns

    def _sync(self, current: int) -> int:
        stored = self.read()
        if stored.revision > current:
            return self._restore(stored)
        if stored.revision < current:
            return self._write()
        return current

    def _restore(self, stored: Stored) -> int:
        """Bring Redis to what the file has. Returns the revision that is in force."""
        pairs: list[str | bytes] = []
        for name, definition in stored.models.items():
            pairs += [name, orjson.dumps(definition, option=orjson.OPT_SORT_KEYS)]
        revision = self._scripts.run(
            "restore_registered", revision=stored.revision, max_models=MAX_REGISTERED, definitions=pairs
        )
        if int(revision) == stored.revision:
            logger.warning("Redis had lost registered models: they were restored from %s", self.path)
            return stored.revision
        return self._write()

    def _write(self) -> int:
        """Write what Redis has. Returns its revision."""
        prefix = self._scripts.prefix
        with redis_errors_translated():
            pipeline = self._scripts.client.pipeline(transaction=True)
            pipeline.get(self.revision_key).smembers(f"{prefix}registered_models")
            revision, names, definitions = pipeline.hgetall(f"{prefix}dynamic_models").execute()
        models = {
            name.decode(): orjson.loads(definitions[name]) for name in sorted(names) if name in definitions
        }
        content = {"format": FORMAT, "revision": int(revision or 0), "models": models}
        temporary = self.path.with_name(f".{FILE}.{os.getpid()}")
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        finally:
            temporary.unlink(missing_ok=True)
        return int(revision or 0)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of all processes with this data folder."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _refused(self, error: OSError) -> str:
        return (
            f"{self.path} cannot be read or written ({error.strerror or error}): give this process a "
            f"writable data folder with free space{WITHOUT}"
        )


def _checked(name: str, definition: Any) -> Any:
    """A definition of the file. Raises `ValueError` for what is none."""
    known = isinstance(definition, dict) and {"configuration", "origin", "size_mib"} <= definition.keys()
    if not known or not is_name(name):
        raise ValueError
    return definition | {"kept": True}
