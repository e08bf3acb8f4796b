"""Asks a Hugging Face hub which files a repository has. For processes of their own: the library is heavy.

`huggingface_hub` is optional, and is imported by the first call.
"""

from __future__ import annotations

import os
import re
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from config.hub_artifact import COMMIT, HubArtifact
from fleet.hub_cache import parts

MAX_FILES = 2_000
MAX_NAME = 255  # bytes, which a file system takes
MAX_DEPTH = 16  # folders of a name
MAX_SIZE = 2**42
"""Bytes of a file."""

DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
MEMORY_BYTES = 2 << 30
"""Of address space, of a process that talks to a hub: an answer without an end takes no more."""

ATTEMPTS = 5
"""How often a call is tried without progress; the library repeats broken connections by itself as well."""

BACKOFF_S = 0.5
TEXT_SUFFIXES = (".json", ".txt", ".model", ".jinja", ".tiktoken", ".vocab")


class HubFailed(Exception):
    """Raised when the hub does not give what was asked for; `code` and the message are for operators."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a repository. `digest` is its SHA-256 (a large file) or git's SHA-1 of it as a blob."""

    name: str
    size: int
    digest: str


def list_files(artifact: HubArtifact, weights: Sequence[str]) -> tuple[str, list[RemoteFile]]:
    """The commit of the revision, and the files of it that the artifact needs. Raises `HubFailed`.

    Of a whole repository these are safetensors, the files named `weights`, and texts, of the uppermost folder
    only; never pickles, which run code when they are read.
    """
    commit, listed = list_repository(artifact)
    where = f"{artifact.repository} at {artifact.revision}"
    names = set(parts(artifact.file)) if artifact.file else None
    files = [file for file in listed if is_needed(file.name, names, weights)]
    if names is not None and (absent := names - {file.name for file in files}):
        raise HubFailed("hub_not_found", f"{where} has no file {min(absent)}")
    if not files:
        raise HubFailed(
            "hub_not_found", f"{where} has no safetensors or GGUF files: other formats are not supported"
        )
    return commit, files


def list_repository(artifact: HubArtifact) -> tuple[str, list[RemoteFile]]:
    """The commit of the artifact's revision, and all files of it. Raises `HubFailed`."""
    try:
        from huggingface_hub import HfApi  # noqa: PLC0415 - an optional library
        from huggingface_hub.errors import (  # noqa: PLC0415
            GatedRepoError,
            RepositoryNotFoundError,
            RevisionNotFoundError,
        )
    except ImportError:
        raise HubFailed(
            "hub_not_installed",
            "downloads need huggingface_hub: install it with `pip install 'stoker[hub]'`, or put the files "
            "there by other means",
        ) from None
    where = f"{artifact.repository} at {artifact.revision}"
    unusable = HubFailed("hub_refused", f"{where}: the hub's answer does not describe a model")
    try:
        info = attempt(
            lambda: HfApi(endpoint=os.environ.get("HF_ENDPOINT")).model_info(
                artifact.repository, revision=artifact.revision, files_metadata=True, timeout=30
            )
        )
    except GatedRepoError:
        raise HubFailed(
            "hub_access_denied", f"{where}: the hub requires a token with read access: set HF_TOKEN"
        ) from None
    except RevisionNotFoundError:
        raise HubFailed("hub_not_found", f"{where}: the hub has no such revision") from None
    except RepositoryNotFoundError:
        raise HubFailed(
            "hub_not_found", f"{where}: the hub has no such model, or HF_TOKEN may not read it"
        ) from None
    except (AttributeError, KeyError, MemoryError, RecursionError, TypeError, ValueError):
        raise unusable from None  # the library checks nothing
    files = [
        RemoteFile(item.rfilename, item.size or 0, item.lfs.sha256 if item.lfs else item.blob_id)
        for item in info.siblings or ()
    ]
    if not isinstance(info.sha, str) or not COMMIT.fullmatch(info.sha):
        raise unusable
    if artifact.is_pinned and info.sha != artifact.revision:
        raise HubFailed("hub_refused", f"{where}: the hub answered with another commit, {info.sha}")
    if len(files) > MAX_FILES:
        raise HubFailed("hub_refused", f"{where} has {len(files)} files, more than {MAX_FILES}")
    for file in files:
        _check_file(file)
    return info.sha, files


def is_needed(name: str, names: set[str] | None, weights: Sequence[str]) -> bool:
    """Whether a file belongs to the artifact: a named one, or weights and texts of the uppermost folder."""
    if names is not None:
        return name in names
    if "/" in name:
        return False
    return name in weights or name.endswith((".safetensors", *TEXT_SUFFIXES))


def _check_file(file: RemoteFile) -> None:
    """Refuse what is no file of a repository: its name and its digest become paths here."""
    for value, what in ((file.name, "name"), (file.digest, "digest")):
        if not isinstance(value, str):
            raise HubFailed("hub_refused", f"the hub names a file without a {what}")
    if not _is_plain(file.name):
        shown = file.name[:MAX_NAME]
        raise HubFailed("hub_refused", f"the hub names a file {shown!r}, which is not a plain name")
    if type(file.size) is not int or not 0 <= file.size <= MAX_SIZE:
        raise HubFailed("hub_refused", f"the hub names {file.name} with an impossible size")
    if not DIGEST.fullmatch(file.digest):
        raise HubFailed("hub_refused", f"the hub names {file.name} with an invalid digest")


def _is_plain(name: str) -> bool:
    """Whether a name leads to a place below the snapshot, and to no other one."""
    parts = PurePosixPath(name).parts
    return (
        "/".join(parts) == name != ""
        and not name.startswith("/")
        and ".." not in parts
        and all(char.isprintable() and char != "\\" for char in name)
        and all(len(part.encode()) <= MAX_NAME for part in parts)
        and len(parts) <= MAX_DEPTH
    )


def bound_memory() -> None:
    """Bound the memory of this process, which talks to a hub: no answer takes that of the platform."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    least = MEMORY_BYTES if most == resource.RLIM_INFINITY else min(MEMORY_BYTES, most)
    resource.setrlimit(resource.RLIMIT_AS, (least, most))


def attempt(call: Callable[[], Any], measure: Callable[[], int] = lambda: 0) -> Any:
    """Call until it succeeds, at most `ATTEMPTS` times in a row without progress by `measure`."""
    import httpx2  # noqa: PLC0415 - comes with huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled  # noqa: PLC0415

    left, reached = ATTEMPTS, measure()
    while True:
        try:
            return call()
        except OfflineModeIsEnabled:
            raise HubFailed(
                "hub_offline", "HF_HUB_OFFLINE is set: unset it, or put the files there by other means"
            ) from None
        except HfHubHTTPError as error:
            status = error.response.status_code if error.response is not None else 0
            if status < 500 and status not in (408, 429):
                raise
            problem = f"it answered {status}"
        except httpx2.HTTPError as error:
            problem = str(error) or type(error).__name__
        except OSError as error:
            if error.errno is not None:
                raise
            problem = str(error).splitlines()[0]  # the library's error for a body that is too short
        now = measure()
        left, reached = (ATTEMPTS if now > reached else left - 1), now
        if left <= 0:
            raise HubFailed("hub_unreachable", f"the hub cannot be reached: {problem[:200]}")
        time.sleep(BACKOFF_S * (ATTEMPTS - left))
