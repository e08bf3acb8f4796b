"""The folder of a job with what is too large for Redis: the audio and images that it gets and makes.

It is `<root>/<SHA-256 of the tenant's name>/jobs/<job id>/` on a disk that the API's processes and the worker
share (`files_root`). The API creates it before the admission and removes it after the job; what neither did
is removed by the sweep of the files (docs/decisions/0048).
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from config.settings import Settings

JOBS = "jobs"
FOLDER = re.compile(r"[0-9a-f]{64}/jobs/[a-z]+_[0-9a-f]{32}(-[0-9]+)?")
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}(\.[a-z0-9]{1,8})?")
PARTIAL = ".part"


class UnsharedFolder(Exception):
    """Raised when a job's folder is not on this machine; the text says what to do."""


def files_root(settings: Settings) -> Path:
    """The folder with the folders of all tenants, on this machine's disk."""
    storage = settings.files.storage
    return settings.data_dir / "files" if storage is None or "://" in storage else Path(storage)


def tenant_folder_name(tenant: str) -> str:
    """The name of a tenant's folder: a tenant's name need not be that of a folder."""
    return hashlib.sha256(tenant.encode()).hexdigest()


def folder_of(tenant: str, job: str) -> str:
    """The `folder` of a media task: the path below `files_root`."""
    return f"{tenant_folder_name(tenant)}/{JOBS}/{job}"


def job_path(root: Path, folder: str, name: str) -> Path:
    """The path of a file of a job. Raises `ValueError` for a folder or name that is none."""
    if not FOLDER.fullmatch(folder) or not NAME.fullmatch(name):
        raise ValueError("not the folder of a job, or not the name of one of its files")
    return root / folder / name


def input_path(root: Path, folder: str, name: str) -> Path:
    """The path of an upload of a job. Raises `UnsharedFolder` if it is not here."""
    path = job_path(root, folder, name)
    if not path.is_file():
        raise UnsharedFolder(
            f"the worker has no file {path}: let it share the folder {root} with the API's processes"
        )
    return path


def write_result(root: Path, folder: str, name: str, content: bytes) -> Path:
    """Write a result of a job; a reader sees it whole or not at all.

    Raises `UnsharedFolder` if the job has no folder (any more), `OSError` for a full disk.
    """
    path = job_path(root, folder, name)
    partial = path.with_name(f"{name}{PARTIAL}")
    try:
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        raise UnsharedFolder(f"there is no folder {path.parent}: its job has ended") from None
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    partial.replace(path)
    return path
