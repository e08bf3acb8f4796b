"""The access rule of each route. A route without a rule is closed.

The rule is an attribute of the view function, `api.request_hooks` checks it before every request, and a test
searches the URL map for routes without one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum
from typing import Any, TypeVar

View = TypeVar("View", bound=Callable[..., Any])

_ATTRIBUTE = "stoker_access"


class Access(Enum):
    """The scope that a route requires of the caller's key, as `config.api_keys.SCOPES` has them.

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

    LIFECYCLE = "lifecycle"
    """Loads, unloads and flushes, which an approval authorises: the scope `governance`. A trusted proxy needs
    no key, as the programs of a platform that approve operations are behind it."""

    @property
    def scope(self) -> str:
        """The scope that a key needs."""
        return Access.GOVERNANCE.value if self is Access.LIFECYCLE else self.value

    def admits(self, scopes: Collection[str]) -> bool:
        """Whether a caller with these scopes may use a route."""
        return self is Access.PUBLIC or self.scope in scopes or self.value in scopes


def declare(view: View, access: Access) -> View:
    """Set the access rule of this view."""
    setattr(view, _ATTRIBUTE, access)
    return view


def access_of(view: Callable[..., Any] | None) -> Access | None:
    """The access rule of the view; None when it has none."""
    return getattr(view, _ATTRIBUTE, None)
