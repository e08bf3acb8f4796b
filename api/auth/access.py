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
    """The credentials that a route requires."""

    PUBLIC = "public"
    """None."""

    TENANT = "tenant"
    """A tenant's API key, if the platform has keys."""

    ADMIN = "admin"
    """The API key of a tenant that is an administrator, if the platform has keys."""


def declare(view: View, access: Access) -> View:
    """Set the access rule of this view."""
    setattr(view, _ATTRIBUTE, access)
    return view


def access_of(view: Callable[..., Any] | None) -> Access | None:
    """The access rule of the view; None when it has none."""
    return getattr(view, _ATTRIBUTE, None)
