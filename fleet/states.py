"""The states of a model, a replica and an operation; fleet/README.md has their transitions."""

from __future__ import annotations

import enum


class ModelState(enum.StrEnum):
    """A model's live state (Runtime Admin API, "Runtime State")."""

    UNLOADED = "unloaded"
    LOADING = "loading"
    LOADED = "loaded"
    UNLOADING = "unloading"
    FAILED = "failed"

    @property
    def is_terminal(self) -> bool:
        """True when no operation is under way."""
        return self in (ModelState.UNLOADED, ModelState.LOADED, ModelState.FAILED)


class ReplicaState(enum.StrEnum):
    """A replica's state. A replica that has ended has no row in Redis."""

    ASSIGNED = "assigned"
    STARTING = "starting"
    UP = "up"
    STOPPING = "stopping"


class OperationStatus(enum.StrEnum):
    """The status of a load or unload; only a load can be cancelled."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """True when the operation has ended."""
        return self not in (OperationStatus.PENDING, OperationStatus.RUNNING)
