"""Deletes the files of a removed model on this host: those that the platform downloaded and nothing uses."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from config.hub_artifact import HubArtifact
from fleet.hub_cache import cached_commit, parts, repository_folder
from workers.downloads.records import DownloadRecords

MAX_LINKS = 100_000
"""Files of a repository's snapshots that are looked at; in a larger one nothing is deleted."""

NOT_OURS = "files that were there before the platform downloaded the model stay"
IN_USE = "files that another model uses stay"


@dataclass(slots=True)
class Deleted:
    """How many files were deleted, their size in bytes, and why some stay ("": none does)."""

    files: int = 0
    size: int = 0
    reason: str = ""


def delete_artifacts(
    artifacts: Sequence[HubArtifact], users: Callable[[], Iterable[HubArtifact]], records: DownloadRecords
) -> Deleted:
    """Delete what may be deleted of the artifacts, each at a commit. Raises `OSError`.

    `users` says which artifacts the other models consist of, and the downloads under way; it is asked while
    no download of the repository can begin or end.
    """
    deleted = Deleted()
    for repository in dict.fromkeys(artifact.repository for artifact in artifacts):
        folder = repository_folder(repository)
        if not folder.is_dir():
            continue
        with records.locked(folder, exclusive=True):
            used = [artifact for artifact in users() if artifact.repository == repository]
            own = [artifact for artifact in artifacts if artifact.repository == repository]
            _delete(folder, own, used, records, deleted)
        _remove_empty(folder)
    return deleted


def _delete(
    folder: Path,
    artifacts: Sequence[HubArtifact],
    used: Sequence[HubArtifact],
    records: DownloadRecords,
    deleted: Deleted,
) -> None:
    links = list(islice(_links(folder / "snapshots"), MAX_LINKS + 1))
    if len(links) > MAX_LINKS:
        deleted.reason = f"{folder.name} has too many files to look at"
        return
    kept = {link for link in links if _is_part(link, folder, used)}
    removed = {link for link in links if link not in kept and _is_part(link, folder, artifacts)}
    if any(_is_part(link, folder, artifacts) for link in kept):
        deleted.reason = IN_USE
    others = {_blob(link) for link in links if link not in removed}
    blobs: dict[Path, list[Path]] = {}
    for link in removed:
        blobs.setdefault(_blob(link), []).append(link)
    for blob, names in blobs.items():
        if not records.has(folder, blob.name):
            deleted.reason = NOT_OURS
            continue
        for link in names:
            link.unlink(missing_ok=True)
        if blob in others:  # a name in another snapshot leads to it, which is perhaps not the platform's
            deleted.reason = IN_USE
            continue
        with suppress(FileNotFoundError):
            size = blob.stat().st_size
            blob.unlink()
            deleted.files += 1
            deleted.size += size
        records.drop(folder, blob.name)


def _links(snapshots: Path) -> Iterator[Path]:
    """All names of all snapshots that are links to blobs."""
    for parent, _, names in os.walk(snapshots):
        for name in names:
            path = Path(parent, name)
            if path.is_symlink():
                yield path


def _blob(link: Path) -> Path:
    return Path(os.path.normpath(link.parent / os.readlink(link)))  # noqa: PTH115 - it may lead to nothing


def _is_part(link: Path, folder: Path, artifacts: Iterable[HubArtifact]) -> bool:
    """Whether a name of a snapshot belongs to one of the artifacts."""
    commit, _, name = link.relative_to(folder / "snapshots").as_posix().partition("/")
    for artifact in artifacts:
        at = artifact.revision if artifact.is_pinned else _current_commit(artifact)
        if at == commit and (artifact.file is None or name in parts(artifact.file)):
            return True
    return False


def _current_commit(artifact: HubArtifact) -> str | None:
    with suppress(ValueError):
        return cached_commit(artifact.repository, artifact.revision)
    return None


def _remove_empty(folder: Path) -> None:
    """Remove the folders of a repository that have become empty, and the branches that lead to none."""
    snapshots, refs = folder / "snapshots", folder / "refs"
    for parent, _, _ in os.walk(snapshots, topdown=False):
        with suppress(OSError):
            Path(parent).rmdir()
    if snapshots.exists():
        return
    with suppress(OSError):
        for reference in refs.iterdir():
            reference.unlink()
    for empty in (refs, folder / "blobs", folder):
        with suppress(OSError):
            empty.rmdir()
