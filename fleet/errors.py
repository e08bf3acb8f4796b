"""Errors of loads and unloads that a client may see."""

from __future__ import annotations

from scheduler.errors import Rejected


class StateConflict(Rejected):
    """Raised when a model's state does not allow the operation; the code names the state."""

    default_code = "model_busy"


class InvalidLoadRequest(Rejected):
    """Raised when the values of a load request are wrong for this model."""

    default_code = "invalid_load_request"


class InsufficientMemory(Rejected):
    """Raised when no device has enough free memory for a load; the message has the numbers."""

    default_code = "insufficient_memory"


class NoWorker(Rejected):
    """Raised when no registered worker can host the model."""

    default_code = "no_worker"
