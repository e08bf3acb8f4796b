"""Patterns of the string formats of JSON Schema, narrower than their definitions.

They stand in for a pattern beside a format that cannot be enforced itself, such as zod's for email addresses,
if all their texts fit it. Sources: RFC 3339 (dates), RFC 9562 (UUIDs), RFC 5321 (email addresses).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from generation.schemas.pattern_form import pattern_form

_DATE = (
    "[0-9]{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
    "|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
)
_TIME = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])"
_HEX = "[0-9a-fA-F]"
_LABEL = "[a-z0-9]+([-.][a-z0-9]+)*"
_NAME = "[a-zA-Z0-9_]"

FORMAT_PATTERNS: Mapping[str, tuple[str, ...]] = {
    "date": (f"^{_DATE}$",),
    "time": (f"^{_TIME}Z$", f"^{_TIME}$"),
    "date-time": (f"^{_DATE}T{_TIME}Z$", f"^{_DATE}T{_TIME}$"),
    "uuid": (f"^{_HEX}{{8}}-{_HEX}{{4}}-[1-8]{_HEX}{{3}}-[89abAB]{_HEX}{{3}}-{_HEX}{{12}}$",),
    "ipv4": (rf"^{_BYTE}\.{_BYTE}\.{_BYTE}\.{_BYTE}$",),
    "email": (
        rf"^{_NAME}+([.+-]{_NAME}+)*@[a-z0-9]+(-[a-z0-9]+)*\.[a-z]{{2,12}}$",
        rf"^{_NAME}{{1,20}}([.+-]{_NAME}{{1,20}})?@[a-z0-9]{{1,20}}(-[a-z0-9]{{1,20}})?(\.[a-z]{{2,12}}){{1,2}}$",
    ),
    "hostname": (f"^{_LABEL}$", "^[a-z0-9]{1,20}([.][a-z0-9]{1,20}){1,3}$"),
    "ipv6": ("^[0-9a-f]{1,4}(:[0-9a-f]{1,4}){7}$",),
    "duration": ("^P([0-9]{1,4}[YMWD]|T[0-9]{1,4}[HMS])$",),
    "uri": (
        rf"^https?://{_LABEL}(:[0-9]{{1,5}})?(/[A-Za-z0-9._~!$&()*+,;=:@/-]*([?][A-Za-z0-9._~&=+-]*)?)?$",
        r"^https?://[a-z0-9]{1,20}([.][a-z0-9]{1,20}){1,3}(/[A-Za-z0-9._~/-]{0,100})?$",
    ),
}
"""For each format the patterns to try, the one that allows most first."""


@cache
def format_patterns(name: str) -> tuple[str, ...]:
    """The patterns of a format in the form of `generation.schemas.pattern_form`; none for an unknown one."""
    return tuple(map(pattern_form, FORMAT_PATTERNS.get(name, ())))
