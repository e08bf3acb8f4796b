"""The local cache of Hugging Face's hub: which snapshot of a repository this host has.

The layout is that of `huggingface_hub` (its guide "Understand caching"): `models--<owner>--<name>` with
`refs/<revision>`, which has a commit, and `snapshots/<commit>`, whose files are links to `blobs`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from config.hub_artifact import COMMIT, DEFAULT_REVISION, HubArtifact

REPOSITORY = re.compile(r"(?!.*(--|\.\.))[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
REVISION = re.compile(r"(?!.*\.\.)[A-Za-z0-9][\w.-]{0,127}", re.ASCII)
SHARD = re.compile(r"(?P<stem>.*-)\d{5}(?P<rest>-of-(?P<count>\d{5})\.gguf)")
MAX_PARTS = 1000
WEIGHTS = (".safetensors", ".gguf", ".bin")


def is_repository(text: str) -> bool:
    """Whether a text is the id of a repository: `owner/name`."""
    return REPOSITORY.fullmatch(text) is not None and not text.endswith((".git", ".", "-"))


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of the cache: HF_HUB_CACHE, else `hub` in HF_HOME, else in ~/.cache/huggingface."""
    environ = os.environ if environ is None else environ
    if given := environ.get("HF_HUB_CACHE"):
        return Path(given).expanduser()
    home = environ.get("HF_HOME") or str(
        Path(environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "huggingface"
    )
    return Path(home).expanduser() / "hub"


def repository_folder(repository: str) -> Path:
    """The folder of a repository in the cache; it need not exist. Raises `ValueError` for another text."""
    if not is_repository(repository):
        raise ValueError(f"{repository!r} is not the id of a repository (owner/name)")
    return cache_folder() / f"models--{repository.replace('/', '--')}"


def snapshot_folder(repository: str, commit: str) -> Path:
    """The folder of one snapshot; it need not exist. Raises `ValueError` for anything but a commit."""
    if not COMMIT.fullmatch(commit):
        raise ValueError(f"{commit!r} is not a commit")
    return repository_folder(repository) / "snapshots" / commit


def cached_commit(repository: str, revision: str = DEFAULT_REVISION) -> str | None:
    """The commit of the snapshot that the cache has for a revision (branch, tag or commit); None without one.

    Raises `ValueError` for texts that are no repository or revision.
    """
    if not REVISION.fullmatch(revision):
        raise ValueError(f"{revision!r} is not a revision")
    commit = revision
    if not COMMIT.fullmatch(revision):
        try:
            commit = (repository_folder(repository) / "refs" / revision).read_text()[:64].strip()
        except (OSError, UnicodeDecodeError):
            return None
    if not COMMIT.fullmatch(commit) or not snapshot_folder(repository, commit).is_dir():
        return None
    return commit


def cached_path(artifact: HubArtifact) -> Path | None:
    """The artifact's file or folder on this host; None when it is not there.

    Of a file in parts all must be there, of a folder some weights: a download links the files when it has all
    of them.
    """
    try:
        commit = cached_commit(artifact.repository, artifact.revision)
    except ValueError:
        return None
    if commit is None:
        return None
    snapshot = snapshot_folder(artifact.repository, commit)
    if artifact.file is None:
        return snapshot if any(file.suffix in WEIGHTS for file in snapshot.iterdir()) else None
    files = [snapshot / name for name in parts(artifact.file)]
    return files[0] if all(file.is_file() for file in files) else None


def parts(file: str) -> list[str]:
    """The names of all parts of a GGUF file that is split, the first one first; else the name itself."""
    match = SHARD.fullmatch(file)
    if match is None or not 0 < int(match["count"]) <= MAX_PARTS:
        return [file]
    return [f"{match['stem']}{number:05}{match['rest']}" for number in range(1, int(match["count"]) + 1)]
