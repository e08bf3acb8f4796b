"""Renders the events of a response for people: text, dimmed reasoning, and the names of called tools.

A model's output is not trusted: control characters, with which it could change the terminal, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

DIM, RESET = "\x1b[2m", "\x1b[0m"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
MAX_ARGUMENTS = 200
"""Characters of a call's arguments that are shown."""

CALLS = {"function_call": "arguments", "custom_tool_call": "input", "tool_search_call": "arguments"}
"""The types of items that call a tool, and the field with what they give it."""

PLACE = "queue position "
"""How the comment of a stream begins that tells where the request stands."""


class PlainRenderer:
    """Renders the text of the answer alone, as it is: for pipes and files."""

    def render(self, event: Mapping[str, Any]) -> str:
        """Return what an event adds to the output."""
        return str(event.get("delta", "")) if event.get("type") == "response.output_text.delta" else ""

    def end(self) -> str:
        """Return what follows the last event."""
        return ""


class TerminalRenderer:
    """Renders the whole answer for a terminal; `dim` is whether the reasoning is dimmed (NO_COLOR: not)."""

    def __init__(self, *, dim: bool = True) -> None:
        self._dim = dim
        self._kind = ""  # of the part that was rendered last: reasoning, text or call

    def render(self, event: Mapping[str, Any]) -> str:
        """Return what an event adds to the output."""
        kind = event.get("type")
        if kind == "response.reasoning_text.delta":
            return self._begin("reasoning") + printable(str(event.get("delta", "")))
        if kind == "response.output_text.delta":
            return self._begin("text") + printable(str(event.get("delta", "")))
        item = event.get("item")
        if kind == "response.output_item.done" and isinstance(item, Mapping) and item.get("type") in CALLS:
            return self._begin("call", again=True) + called_tool(item)
        return ""

    def end(self) -> str:
        """Return what ends the output, also one that was interrupted."""
        end = RESET if self._dim and self._kind == "reasoning" else ""
        return f"{end}\n" if self._kind else ""

    def _begin(self, kind: str, *, again: bool = False) -> str:
        """Return what separates a part of this kind from the one before."""
        before, self._kind = self._kind, kind
        if before == kind and not again:
            return ""
        end = RESET if self._dim and before == "reasoning" else ""
        gap = "\n\n" if "reasoning" in (before, kind) else "\n"
        return end + (gap if before else "") + (DIM if self._dim and kind == "reasoning" else "")


def called_tool(item: Mapping[str, Any]) -> str:
    """Return the name of a called tool and what it is given: `[calls get_weather {"city": "Oslo"}]`."""
    given = " ".join(printable(str(item.get(CALLS[str(item["type"])]) or "")).split())
    if len(given) > MAX_ARGUMENTS:
        given = f"{given[:MAX_ARGUMENTS]}..."
    name = printable(str(item.get("name") or item["type"]))
    return f"[calls {name}{f' {given}' if given else ''}]"


def printable(text: str) -> str:
    """Return a text without control characters but tabs and line breaks."""
    return CONTROL.sub("", text)


def place_in_queue(comment: str) -> str | None:
    """Return the place of a waiting request in words, if a comment of its stream tells it."""
    return printable(comment) if comment.startswith(PLACE) else None
