"""The header that names the tools of a request which the model is not offered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

HEADER = "X-Ignored-Tools"

MAX_TYPES = 16
_TYPE = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def other_types(tools: Sequence[Mapping[str, Any]], known: str) -> tuple[str, ...]:
    """The types of the tools that are not of the type `known`, each once; a tool without a type is."""
    return tuple(dict.fromkeys(tool["type"] for tool in tools if tool.get("type") not in (None, "", known)))


def ignored_tools_header(types: Iterable[str]) -> dict[str, str]:
    """The header with these types of tools, in their order: at most 16, and `other` for no word."""
    named = dict.fromkeys(kind if _TYPE.fullmatch(kind) else "other" for kind in types)
    return {HEADER: ", ".join(islice(named, MAX_TYPES))}
