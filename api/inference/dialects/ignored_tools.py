"""The header that names the tools of a request which the model is not offered."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

HEADER = "X-Ignored-Tools"

MAX_TYPES = 16
_TYPE = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def ignored_tools_header(types: Iterable[str]) -> dict[str, str]:
    """The header with these types of tools, in their order: at most 16, and `other` for no word."""
    named = dict.fromkeys(kind if _TYPE.fullmatch(kind) else "other" for kind in types)
    return {HEADER: ", ".join(islice(named, MAX_TYPES))}
