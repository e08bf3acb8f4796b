"""What a task body may ask of the process it runs in.

The worker installs its host at start, so that the API can import real task signatures and never a runtime.
"""

from __future__ import annotations

from typing import Protocol


class Host(Protocol):
    """One GPU's worker process."""

    def generate(self, id: str) -> str:
        """Run the job with that id, if it is this worker's to run; says in a few words how it ended.

        Raises `scheduler.errors.Failed` when it did not end well.
        """
        ...

    def load(self, replica: str) -> str:
        """Start the engine of a replica assigned to this worker."""
        ...

    def unload(self, replica: str) -> str:
        """Drain and stop the engine of a replica."""
        ...


class _Place:
    host: Host | None = None


def install(host: Host) -> None:
    """Make this process the host of the tasks that run in it."""
    _Place.host = host


def current() -> Host:
    """The installed host. Raises `RuntimeError` outside a worker."""
    if _Place.host is None:
        raise RuntimeError("no host is installed: tasks run only in a worker started by `stoker worker`")
    return _Place.host
