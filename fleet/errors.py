"""Errors of loads and unloads that a client may see."""

from __future__ import annotations

from store.errors import Rejected


class StateConflict(Rejected):
    """Raised when a model's state does not allow the operation; the code names the state."""

    default_code = "model_busy"


class InvalidLoadRequest(Rejected):
    """Raised when the values of a load request are wrong for this model."""

    default_code = "invalid_load_request"


class NotDownloaded(InvalidLoadRequest):
    """Raised for a repository that is not in the local cache, where nothing is downloaded."""

    default_code = "model_not_downloaded"


class TooManyModels(Rejected):
    """Raised when as many dynamic models are loaded as there may be."""

    default_code = "too_many_models"


class HubRefused(Rejected):
    """Raised when a hub does not say what a model is; the code is that of `fleet.hub_listing.HubFailed`."""

    default_code = "hub_unreachable"


class HubBusy(HubRefused):
    """Raised when as many models on the hub are being looked at as may be."""

    default_code = "hub_busy"


class CoolingDown(Rejected):
    """Raised when a model was loaded or unloaded too short a time ago to be loaded again."""

    default_code = "cooling_down"


class InsufficientMemory(Rejected):
    """Raised when no device has enough free memory for a load; the message has the numbers."""

    default_code = "insufficient_memory"


class NoWorker(Rejected):
    """Raised when no registered worker can host the model."""

    default_code = "no_worker"


class UnknownWorker(Rejected):
    """Raised when no worker of that name is registered."""

    default_code = "not_found"


class TooManyDrains(Rejected):
    """Raised when as many workers are drained as may be."""

    default_code = "too_many_drains"


class NotAuthorized(Rejected):
    """Raised when the caller's authorization does not allow the change, or was used up.

    The message says what the caller can see by itself (`visible`), else it is the same for all reasons.
    `reason` and `detail` are for the audit.
    """

    default_code = "operation_not_authorized"

    def __init__(self, reason: str, detail: str = "", visible: str = "") -> None:
        message = "the operation is not authorized"
        super().__init__(f"{message}: {visible}" if visible else message)
        self.reason, self.detail = reason, detail


class InvalidFlush(Rejected):
    """Raised when the scope of a flush is not one."""

    default_code = "invalid_flush"


def check_authorized(answer: list[bytes]) -> list[bytes]:
    """The answer of a script. Raises `NotAuthorized` if it refused the caller's authorization."""
    if answer[0] == b"refused":
        raise NotAuthorized(answer[1].decode())
    return answer
