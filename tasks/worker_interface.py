"""The worker as the tasks call it.

A worker process sets its worker at start, so that the API can import the tasks without the worker's code.
"""

from __future__ import annotations

from typing import Protocol


class WorkerInterface(Protocol):
    """The worker of one GPU. Methods raise `store.errors.Failed` if the work fails.

    They return a few words for Flower.
    """

    def load(self, replica: str) -> str:
        """Start the engine of a replica that is assigned to this worker."""
        ...

    def unload(self, replica: str) -> str:
        """Drain and stop the engine of a replica."""
        ...

    def flush(self, replica: str, operation: str) -> str:
        """Drop what a flush concerns from a replica's engine, when the API processes use the new epochs."""
        ...

    def file_operation(self, operation: str) -> str:
        """Begin a download or removal of a model's files, and return before its end."""
        ...


class _Process:
    worker: WorkerInterface | None = None


def set_current_worker(worker: WorkerInterface) -> None:
    """Make `worker` run the tasks of this process."""
    _Process.worker = worker


def current_worker() -> WorkerInterface:
    """The worker of this process. Raises `RuntimeError` outside a worker process."""
    if _Process.worker is None:
        raise RuntimeError("this process has no worker: tasks run only in one started by `stoker worker`")
    return _Process.worker
