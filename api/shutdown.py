"""Whether this process goes on: what never ends by itself asks now and then."""

from __future__ import annotations

from collections.abc import Callable


class Life:
    """This process' life; whoever runs it says how to tell."""

    def __init__(self) -> None:
        self.goes_on: Callable[[], bool] = lambda: True
