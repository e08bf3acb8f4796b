"""Finds the adapter of a backend by name. An adapter is imported when it is first requested."""

from __future__ import annotations

from importlib import import_module

from backends.base import Adapter
from backends.catalogue import NAMES


class UnknownBackendError(LookupError):
    """Raised when there is no backend of the requested name; the message lists the names that exist."""


def adapter(name: str) -> Adapter:
    """Return the adapter of a backend. Raises `UnknownBackendError`."""
    if name not in NAMES:
        raise UnknownBackendError(f"there is no backend {name!r}; the backends are {', '.join(NAMES)}")
    found: Adapter = import_module(f"backends.{name}.adapter").ADAPTER
    return found
