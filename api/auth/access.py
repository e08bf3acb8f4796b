"""The access rule of each route. A route without a rule is closed.

The rule is an attribute of the view function, `api.request_hooks` checks it before every request, and a test
searches the URL map for routes without one.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

View = TypeVar("View", bound=Callable[..., Any])

_ATTRIBUTE = "stoker_access"


class Access(Enum):
    """The scope that a route requires of the caller's key; the values are those of `config.api_keys.SCOPES`.

    On a platform without keys every caller has all scopes.
    """

    PUBLIC = "public"
    """None, and no key."""

    INFERENCE = "inference"
    """Requests to models, and what they left: models, responses, queues."""

    ADMIN = "admin"
    """Models, tenants and keys: loads, changes, inspection."""

    METRICS = "metrics"
    """Measurements of the platform."""

    GOVERNANCE = "governance"
    """Changes that need signatures, and the audit chain."""


def declare(view: View, access: Access) -> View:
    """Set the access rule of this view."""
    setattr(view, _ATTRIBUTE, access)
    return view


def access_of(view: Callable[..., Any] | None) -> Access | None:
    """The access rule of the view; None when it has none."""
    return getattr(view, _ATTRIBUTE, None)
