"""The files of a job, as an engine of this machine finds them."""

from __future__ import annotations

from pathlib import Path

from backends.base import GenerationError
from generation.job_folder import UnsharedFolder, input_path, job_path
from generation.media import MediaTask

NO_FILES = "the worker has no folder of files: set data_dir for it"


def upload_path(files: Path | None, task: MediaTask, name: str) -> Path:
    """The path of an upload of a task. Raises `GenerationError` (engine_error) if it is not here."""
    if files is None:
        raise GenerationError("engine_error", NO_FILES)
    try:
        return input_path(files, task.folder, name)
    except (UnsharedFolder, ValueError) as error:
        raise GenerationError("engine_error", str(error)) from error


def result_path(files: Path | None, task: MediaTask, name: str) -> Path:
    """The path of a result of a task. Raises `GenerationError` (engine_error) for a task without a folder."""
    if files is None:
        raise GenerationError("engine_error", NO_FILES)
    try:
        return job_path(files, task.folder, name)
    except ValueError as error:
        raise GenerationError("engine_error", str(error)) from error
