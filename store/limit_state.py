"""The state of one limit of a tenant, which accepted and rejected requests both report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LimitState:
    """What a tenant has left of a limit within a window. `kind`: "requests" or "tokens".

    All of it is free again after `reset_s` seconds without a further request.
    """

    kind: str
    most: int
    remaining: int
    reset_s: float
