"""Whether a view blocks its thread: an attribute of the view function, which the server looks up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_ATTRIBUTE = "stoker_blocking"


def declare_not_blocking(view: Callable[..., Any]) -> None:
    """Declare that this view does no I/O and waits for nothing, so that it may run on the event loop."""
    setattr(view, _ATTRIBUTE, False)


def blocks(view: Callable[..., Any]) -> bool:
    """Whether the view needs a thread; True unless it was declared otherwise."""
    return bool(getattr(view, _ATTRIBUTE, True))
