"""The process that downloads artifacts: `python -m workers.downloads.program`, started by `download`.

It reads one JSON object from stdin (`artifacts`, `sha256`: digests by file, `keep_free_bytes`, `weights`:
file names that count as weights beside safetensors, `records`: folder of `DownloadRecords`) and writes JSON
lines: `{"done", "total"}` in bytes, and at last `{"paths"}` in the order of the artifacts, or
`{"code", "message"}`. It ends when its stdin is closed, as it is when the worker dies.

Each file is written to `blobs/<digest>.part`, under a lock, and becomes `blobs/<digest>` when its digest is
right. huggingface_hub's own download would begin anew after the end of its process; this one continues.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from config.hub_artifact import HubArtifact, parse
from fleet.hub_cache import cache_folder, repository_folder
from fleet.hub_listing import HubFailed, RemoteFile, attempt, bound_memory, list_files
from workers.downloads.bounded_file import BoundedFile
from workers.downloads.records import DownloadRecords, recorded

REPORT_INTERVAL_S = 0.3
CHUNK_BYTES = 1024 * 1024
"""Bytes of a piece that is written. The library's own, of 10 MiB, would be minutes on a slow line."""


def main() -> int:
    """Download as stdin asks. Returns the exit status: 0 when the artifact is there."""
    asked = orjson.loads(sys.stdin.buffer.readline())
    bound_memory()
    threading.Thread(target=_end_with_the_worker, daemon=True).start()
    try:
        paths = fetch(
            [parse(text) or HubArtifact(text) for text in asked["artifacts"]],
            asked["sha256"],
            asked["keep_free_bytes"],
            asked["weights"],
            DownloadRecords(Path(asked["records"])),
        )
    except HubFailed as error:
        _write({"code": error.code, "message": str(error)})
        return 1
    _write({"paths": [str(path) for path in paths]})
    return 0


def fetch(
    artifacts: Sequence[HubArtifact],
    sha256: Mapping[str, str],
    keep_free_bytes: int,
    weights: Sequence[str],
    records: DownloadRecords,
) -> list[Path]:
    """Download what is missing of the artifacts, and return their paths. Raises `HubFailed`."""
    listings = [_listing(artifact, weights) for artifact in artifacts]
    files = [file for listing in listings for file in listing.files]
    if absent := sha256.keys() - {file.name for file in files}:
        raise HubFailed(
            "hash_mismatch", f"`model_sha256` names {min(absent)}, which is not one of the model's files"
        )
    missing = [file for listing in listings for file in listing.missing(records)]
    total = sum(file.size for file in files)
    progress = _Progress(total, total - sum(file.size for file in missing))
    try:
        _check_space(listings, keep_free_bytes)
        return [_complete(listing, sha256, records, progress) for listing in listings]
    finally:
        progress.finish()


@dataclass(frozen=True, slots=True)
class _Listing:
    """An artifact, and what it consists of: `folder` is that of its repository in the cache."""

    artifact: HubArtifact
    commit: str
    files: Sequence[RemoteFile]
    folder: Path

    @property
    def blobs(self) -> Path:
        return self.folder / "blobs"

    @property
    def snapshot(self) -> Path:
        return self.folder / "snapshots" / self.commit

    def missing(self, records: DownloadRecords) -> list[RemoteFile]:
        """The files whose content is not here; waits for a removal."""
        with records.locked(self.folder, exclusive=False):
            return [file for file in self.files if not (self.blobs / file.digest).exists()]


def _listing(artifact: HubArtifact, weights: Sequence[str]) -> _Listing:
    commit, files = list_files(artifact, weights)
    try:
        return _Listing(artifact, commit, files, repository_folder(artifact.repository))
    except ValueError as error:
        raise HubFailed("hub_refused", str(error)) from None


def _complete(
    listing: _Listing, sha256: Mapping[str, str], records: DownloadRecords, progress: _Progress
) -> Path:
    """Download an artifact's missing files, link all of them, and return its path. Raises `HubFailed`."""
    artifact, blobs, snapshot = listing.artifact, listing.blobs, listing.snapshot
    try:
        blobs.mkdir(parents=True, exist_ok=True)
        while True:
            for file in listing.missing(records):
                _fetch_file(listing, file, records, progress)
            for file in listing.files:
                _check_wanted_digest(file, blobs / file.digest, sha256.get(file.name))
            # a removal of another model may have deleted a file that both have, before this one was linked
            with records.locked(listing.folder, exclusive=False):
                if all((blobs / file.digest).exists() for file in listing.files):
                    for file in listing.files:
                        _link(snapshot / file.name, blobs / file.digest)
                    break
        if not artifact.is_pinned:
            reference = listing.folder / "refs" / artifact.revision
            reference.parent.mkdir(parents=True, exist_ok=True)
            reference.write_text(listing.commit)
    except OSError as error:
        raise _storage_failure(error, listing.folder) from error
    return snapshot if artifact.file is None else snapshot / artifact.file


def _check_space(listings: Sequence[_Listing], keep_free_bytes: int) -> None:
    wanted = {(listing.blobs, file) for listing in listings for file in listing.files}
    missing = [(blobs, file) for blobs, file in wanted if not (blobs / file.digest).exists()]
    needed = sum(file.size for _, file in missing)
    needed -= sum(part.stat().st_size for blobs, file in missing if (part := _part(blobs, file)).exists())
    cache = cache_folder()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(cache).free
    except OSError as error:
        raise _storage_failure(error, cache) from error
    if needed > 0 and needed + keep_free_bytes > free:
        raise HubFailed(
            "disk_full",
            f"{_size(needed)} must be downloaded to {cache}, which has {_size(free)} free, "
            f"of which {_size(keep_free_bytes)} must stay free (hub.keep_free_mib): free some space, or "
            "set HF_HOME to another disk",
        )


def _fetch_file(listing: _Listing, file: RemoteFile, records: DownloadRecords, progress: _Progress) -> None:
    """Download one file, or continue it; another process that downloads it is waited for."""
    from huggingface_hub import hf_hub_url  # noqa: PLC0415

    artifact, blobs = listing.artifact, listing.blobs
    part, blob, before = _part(blobs, file), blobs / file.digest, progress.done
    with _locked(part, lambda: progress.reach(before + _written(part))):
        progress.reach(before)
        if blob.exists():
            progress.add(file.size)
            return
        url = hf_hub_url(
            artifact.repository, file.name, revision=listing.commit, endpoint=os.environ.get("HF_ENDPOINT")
        )
        recorded(records, listing.folder, file.digest, file.name)
        began_with = _written(part)
        if began_with > file.size:
            part.unlink()
            began_with = 0
        progress.add(began_with)
        _receive(url, part, file, progress)
        if _digest(part, file) != file.digest:
            part.unlink()
            raise HubFailed(
                "hash_mismatch",
                f"{file.name} of {artifact.repository} does not have the digest that the hub announced "
                f"({file.digest}) and was deleted: load again; if it happens again, do not trust this hub",
            )
        part.replace(blob)
    Path(str(part) + ".lock").unlink(missing_ok=True)


@contextmanager
def _locked(part: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock of a part; `on_wait` is called each second in which another process holds it."""
    from filelock import FileLock, Timeout  # noqa: PLC0415 - comes with huggingface_hub

    lock = FileLock(str(part) + ".lock")
    while True:
        try:
            lock.acquire(timeout=1)
            break
        except Timeout:
            on_wait()
    try:
        yield
    finally:
        lock.release()


def _written(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _receive(url: str, part: Path, file: RemoteFile, progress: _Progress) -> None:
    """Append to the part until it is complete, through broken connections."""
    from huggingface_hub import constants  # noqa: PLC0415
    from huggingface_hub.file_download import http_get  # noqa: PLC0415
    from huggingface_hub.utils._headers import build_hf_headers  # noqa: PLC0415

    class Bar:
        """What the library needs of a progress bar."""

        def __init__(self, *_: object, **__: object) -> None: ...

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None: ...

        def update(self, count: int) -> None:
            progress.add(count)

    if file.size > constants.MAX_HTTP_DOWNLOAD_SIZE:
        raise HubFailed(
            "hub_refused",
            f"{file.name} has more than {_size(constants.MAX_HTTP_DOWNLOAD_SIZE)}, which the hub does not"
            " send over HTTP: fetch the model with `hf download`, and load it again",
        )
    constants.DOWNLOAD_CHUNK_SIZE = CHUNK_BYTES

    def once() -> None:
        with part.open("ab") as output:
            size = output.tell()
            http_get(
                url,
                BoundedFile(output, part, file),  # type: ignore[arg-type]
                resume_size=size,
                headers=build_hf_headers() | {"Accept-Encoding": "identity"},
                expected_size=file.size,
                tqdm_class=Bar,
            )

    if file.size == 0:
        part.touch()
        return
    attempt(once, lambda: _written(part))


def _digest(path: Path, file: RemoteFile) -> str:
    """The file's digest, of the kind of the wanted one."""
    if len(file.digest) == 64:
        found = hashlib.sha256()
    else:
        found = hashlib.sha1(f"blob {path.stat().st_size}\0".encode())  # noqa: S324 - git's name of the file
    with path.open("rb") as data:
        while chunk := data.read(CHUNK_BYTES):
            found.update(chunk)
    return found.hexdigest()


def _check_wanted_digest(file: RemoteFile, blob: Path, wanted: str | None) -> None:
    """Compare a file with the digest that the catalogue has of it."""
    if wanted is None:
        return
    found = _digest(blob, RemoteFile(file.name, file.size, wanted))
    if found != wanted:
        raise HubFailed(
            "hash_mismatch",
            f"{file.name} has the SHA-256 {found}, but the model's definition says {wanted}: correct "
            "`model_sha256`, or the revision",
        )


def _link(path: Path, blob: Path) -> None:
    """Make the file's name in the snapshot a relative link to its content, as Hugging Face's libraries do."""
    target = os.path.relpath(blob, path.parent)
    if path.is_symlink() and os.readlink(path) == target:  # noqa: PTH115 - compared as text
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.replace(path)


def _part(blobs: Path, file: RemoteFile) -> Path:
    return blobs / f"{file.digest}.part"


def _storage_failure(error: OSError, folder: Path) -> HubFailed:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return HubFailed(
            "disk_full",
            f"the disk of {folder} is full: free some space; the download continues where it stopped",
        )
    return HubFailed("load_failed", f"cannot write to {folder}: {error.strerror or error}")


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"


class _Progress:
    """Counts bytes; a thread reports them at intervals, until `finish`."""

    def __init__(self, total: int, done: int) -> None:
        self.total, self.done, self._reported = total, done, -1
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def add(self, count: int) -> None:
        """Add bytes that are there."""
        self.done += count

    def reach(self, done: int) -> None:
        """Set the number of bytes that are there."""
        self.done = done

    def finish(self) -> None:
        """Report for the last time."""
        self._finished.set()
        self._thread.join()
        self._report()

    def _run(self) -> None:
        self._report()
        while not self._finished.wait(REPORT_INTERVAL_S):
            self._report()

    def _report(self) -> None:
        done = min(self.done, self.total)
        if done != self._reported:
            self._reported = done
            _write({"done": done, "total": self.total})


def _write(line: Mapping[str, object]) -> None:
    sys.stdout.buffer.write(orjson.dumps(line) + b"\n")
    sys.stdout.buffer.flush()


def _end_with_the_worker() -> None:
    while os.read(0, 4096):  # not by `sys.stdin`, whose lock would stop the interpreter's end
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
