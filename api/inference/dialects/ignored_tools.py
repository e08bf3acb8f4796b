"""The header that names the tools of a request which the model is not offered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

HEADER = "X-Ignored-Tools"

MAX_TYPES = 16
_TYPE = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def of_type(tools: Sequence[Mapping[str, Any]], known: str) -> list[Mapping[str, Any]]:
    """The tools of the type `known`, which is that of a tool without one."""
    return [tool for tool in tools if tool.get("type") in (None, "", known)]


def other_types(tools: Iterable[Mapping[str, Any]], offered: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The types of the tools that are not among those that the model is offered, each once."""
    known = {id(tool) for tool in offered}
    return tuple(dict.fromkeys(tool["type"] for tool in tools if id(tool) not in known))


def hosted_fields(body: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    """Those of the fields that are set: they are about tools of a vendor's servers, and are left out, too."""
    return tuple(name for name in names if body.get(name) not in (None, []))


def ignored_tools_header(types: Iterable[str]) -> dict[str, str]:
    """The header with these types of tools, in their order: at most 16, and `other` for no word."""
    named = dict.fromkeys(kind if _TYPE.fullmatch(kind) else "other" for kind in types)
    return {HEADER: ", ".join(islice(named, MAX_TYPES))}
