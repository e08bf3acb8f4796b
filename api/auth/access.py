"""Who may use which route: each declares it, and one that does not is closed.

The declaration sits on the view function, `guard` reads it before every request, and a test walks the URL map
for a route that has none.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

View = TypeVar("View", bound=Callable[..., Any])

_ATTRIBUTE = "stoker_access"


class Access(Enum):
    """How much a caller has to bring."""

    PUBLIC = "public"
    """Nothing."""

    TENANT = "tenant"
    """A tenant's key, where the platform has keys."""

    ADMIN = "admin"
    """The key of a tenant that is an administrator."""


def declare(view: View, access: Access) -> View:
    """Say who may use this view."""
    setattr(view, _ATTRIBUTE, access)
    return view


def access_of(view: Callable[..., Any] | None) -> Access | None:
    """What the view declares; None when it declares nothing."""
    return getattr(view, _ATTRIBUTE, None)
