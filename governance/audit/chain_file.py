"""The chain in the files of this host: `audit-<first number>.jsonl`, a record per line.

A file that has become too large is followed by the next one; the chain runs on over them. Older files may be
moved away: what is left stays verifiable. Only the last file is ever written. Every method but `lines` is
called by the holder of `lock`, which all processes of the host share; a killed process releases it.
"""

from __future__ import annotations

import fcntl
import os
import re
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from governance.audit.record import AuditRecord, DamagedRecord, parse_record

MAX_FILE_BYTES = 64 * 2**20
LOCK_TIMEOUT_S = 5.0
LOCK_POLL_S = 0.005

_NAME = re.compile(r"audit-(\d{12})\.jsonl")


class FileBusy(Exception):
    """Another process held the lock for too long: its disk does not answer."""


class NotWritable(OSError):
    """The file cannot be written: the disk is full, or it is read-only."""


class ChainFile:
    """The files of a folder, which is made if it is missing. Methods raise `OSError`."""

    def __init__(self, folder: Path, max_bytes: int = MAX_FILE_BYTES) -> None:
        self.folder = folder
        self._max_bytes = max_bytes
        self._known: tuple[Path, int, AuditRecord | None] | None = None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Exclude all other processes and threads of this host.

        Raises `FileBusy` after `LOCK_TIMEOUT_S`, and `NotWritable`.
        """
        with _writing():
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            until = time.monotonic() + LOCK_TIMEOUT_S
            while not _locked(handle):
                if time.monotonic() > until:
                    raise FileBusy(f"the lock of {self.folder} was held for {LOCK_TIMEOUT_S:.0f} s")
                time.sleep(LOCK_POLL_S)
            yield
        finally:
            os.close(handle)

    def paths(self) -> list[Path]:
        """The files, the oldest first."""
        if not self.folder.exists():
            return []
        return sorted(path for path in self.folder.iterdir() if _NAME.fullmatch(path.name))

    def end(self) -> AuditRecord | None:
        """The last record; None without one. An incomplete last line, which a crash leaves, is no record."""
        paths = self.paths()
        if not paths:
            return None
        size = paths[-1].stat().st_size
        if self._known is None or self._known[:2] != (paths[-1], size):
            latest = self.latest(1)
            self._known = paths[-1], size, latest[0] if latest else None
        return self._known[2]

    def latest(self, count: int) -> list[AuditRecord]:
        """The latest records, `count` at most, in order, back to a line that is no record."""
        found: list[AuditRecord] = []
        for path in reversed(self.paths()):
            for line in lines_back(path):
                if len(found) == count:
                    return found[::-1]
                try:
                    found.append(parse_record(line))
                except DamagedRecord:
                    if found:
                        return found[::-1]
        return found[::-1]

    def append(self, records: Sequence[AuditRecord]) -> None:
        """Write records and wait until they are on the disk; after an error the file is as before.

        Records that do not follow the last one, and those after a damaged line, begin a file. Raises
        `NotWritable`.
        """
        if not records:
            return
        with _writing():
            path = self._path_for(records[0])
            is_new = not path.exists()
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                before = _without_incomplete_line(handle)
                try:
                    _write(handle, b"".join(record.line + b"\n" for record in records))
                    os.fsync(handle)
                except OSError:
                    os.ftruncate(handle, before)
                    if is_new:
                        path.unlink()
                    raise
                self._known = path, os.fstat(handle).st_size, records[-1]
            finally:
                os.close(handle)
            if is_new:
                self._sync_folder()

    def cut_after(self, number: int) -> None:
        """Remove the records with a larger number. Raises `NotWritable`."""
        with _writing():
            self._known = None
            for path in reversed(self.paths()):
                with path.open("r+b") as file:
                    size = _without_incomplete_line(file.fileno())
                    for line in lines_back(path):
                        with suppress(DamagedRecord):
                            if parse_record(line).number <= number:
                                break
                        size -= len(line) + 1
                    file.truncate(size)
                    os.fsync(file.fileno())
                if size > 0:
                    break
                path.unlink()
            self._sync_folder()

    def keep_aside(self, name: str, lines: Sequence[bytes]) -> Path:
        """Write lines that are about to be removed into a file of their own. Raises `NotWritable`."""
        path = self.folder / f"{name}.jsonl"
        with _writing():
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                _write(handle, b"".join(line + b"\n" for line in lines))
                os.fsync(handle)
            finally:
                os.close(handle)
            self._sync_folder()
        return path

    def _path_for(self, record: AuditRecord) -> Path:
        """The file of a new record."""
        paths, end = self.paths(), self.end()
        if paths and end is not None and end.number + 1 == record.number:
            last_line = next(lines_back(paths[-1]), b"")
            if last_line == end.line and paths[-1].stat().st_size < self._max_bytes:
                return paths[-1]
        return self.folder / f"audit-{record.number:012d}.jsonl"

    def _sync_folder(self) -> None:
        handle = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def first_number(path: Path) -> int | None:
    """The number of the first record of a file, by its name; None for one of another name, as an export."""
    found = _NAME.fullmatch(path.name)
    return int(found[1]) if found else None


def file_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file without their ends, an incomplete last one included."""
    with path.open("rb") as file:
        for line in file:
            yield line.removesuffix(b"\n")


def lines_back(path: Path) -> Iterator[bytes]:
    """The lines of a file without their ends, the last one first, without an incomplete last one."""
    with path.open("rb") as file:
        at, rest, ended = file.seek(0, os.SEEK_END), b"", False
        while at > 0:
            step = min(at, 65536)
            at = file.seek(at - step)
            rest, *lines = (file.read(step) + rest).split(b"\n")
            if lines and not ended:
                ended = True
                del lines[-1]  # what comes after the last end of a line
            yield from reversed(lines)
        if ended:
            yield rest


def host_name() -> str:
    """The name of this host, for records about its file."""
    return socket.gethostname()


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NotWritable(error.errno, error.strerror or str(error), error.filename) from error


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _without_incomplete_line(handle: int) -> int:
    """Cut an incomplete last line off an open file. Returns its size."""
    at = size = os.fstat(handle).st_size
    while at > 0:
        step = min(at, 65536)
        at -= step
        found = os.pread(handle, step, at).rfind(b"\n")
        if found >= 0:
            at += found + 1
            break
    if at < size:
        os.ftruncate(handle, at)
    return at
