"""Rate limits: a number within a window, as text `100req/min`."""

from __future__ import annotations

import re

WINDOWS_S = {"s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hour": 3600, "day": 86_400}
"""The windows by name, in seconds."""

MAX_COUNT = 2**31 - 1

_WINDOW_NAMES = {1: "s", 60: "min", 3600: "hour", 86_400: "day"}
_FORM = re.compile(r"([0-9]{1,10}) ?(?:req|requests?|tok|tokens?)?(?:/| per )([a-z]+)")


class RateLimit(str):
    """At most `most` requests (or tokens) within any `window_s` seconds.

    The value is the canonical text, `100/min`, so that it is printed and stored as it was written. Accepts
    `100req/min`, `100/min`, `5 requests per second`, `20000tok/hour`; raises `ValueError` for other texts.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> RateLimit:
        """Read the text."""
        match = _FORM.fullmatch(text.strip().lower())
        if match is None or match[2] not in WINDOWS_S or not 1 <= int(match[1]) <= MAX_COUNT:
            raise ValueError(f"not a rate limit: {text!r}")
        return super().__new__(cls, f"{int(match[1])}/{_WINDOW_NAMES[WINDOWS_S[match[2]]]}")

    @property
    def most(self) -> int:
        """The number of requests (or tokens)."""
        return int(self.partition("/")[0])

    @property
    def window_s(self) -> int:
        """The window in seconds."""
        return WINDOWS_S[self.partition("/")[2]]
