"""The access rule of each route. A route without a rule is closed.

The rule is an attribute of the view function, `api.request_hooks` checks it before every request, and a test
searches the URL map for routes without one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum
from typing import Any, TypeVar

from config.api_keys import IMPLIED_SCOPES

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

    READ = "read"
    """What the pages for operators show. It changes nothing."""

    OPERATE = "operate"
    """Loads, unloads, flushes, cancels, drains and acknowledgements."""

    ADMIN = "admin"
    """Changes of tenants, keys, sessions and of which models there are."""

    METRICS = "metrics"
    """Measurements of the platform."""

    GOVERNANCE = "governance"
    """Changes that need signatures."""

    AUDIT = "audit"
    """Reads proposals and the audit chain: the scope `governance` or `read`."""

    LIFECYCLE = "lifecycle"
    """Loads, unloads and flushes, which an approval authorises: the scope `governance`. A trusted proxy needs
    no key, as the programs of a platform that approve operations are behind it."""

    @property
    def scope(self) -> str:
        """The scope that a key needs."""
        return Access.GOVERNANCE.value if self in (Access.LIFECYCLE, Access.AUDIT) else self.value

    @property
    def code(self) -> str:
        """The error code for a caller without the scope; the message names the scope that would do."""
        return f"{'admin' if self in _OF_OPERATORS else self.scope}_required"

    def admits(self, scopes: Collection[str]) -> bool:
        """Whether a caller with these scopes may use a route."""
        return not _SUFFICIENT[self].isdisjoint(scopes) or self is Access.PUBLIC


_OF_OPERATORS = (Access.READ, Access.OPERATE)
_SUFFICIENT = {
    access: frozenset({access.value, access.scope})
    | {scope for scope, implied in IMPLIED_SCOPES.items() if access.value in implied}
    for access in Access
}
_SUFFICIENT[Access.AUDIT] |= _SUFFICIENT[Access.READ]
"""By access: the scopes of which a caller needs one."""


def declare(view: View, access: Access) -> View:
    """Set the access rule of this view."""
    setattr(view, _ATTRIBUTE, access)
    return view


def access_of(view: Callable[..., Any] | None) -> Access | None:
    """The access rule of the view; None when it has none."""
    return getattr(view, _ATTRIBUTE, None)
