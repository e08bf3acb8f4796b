"""The states of a model and of its replicas; the transitions are drawn in fleet/README.md."""

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
    """A replica's state. One that is gone has no row."""

    ASSIGNED = "assigned"
    STARTING = "starting"
    UP = "up"
    STOPPING = "stopping"


class OperationStatus(enum.StrEnum):
    """How far a load or unload is."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"

    @property
    def is_terminal(self) -> bool:
        """True when nothing can change it any more."""
        return self in (OperationStatus.COMPLETED, OperationStatus.FAILED)
