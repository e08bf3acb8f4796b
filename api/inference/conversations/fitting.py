"""The attachments of a conversation that a request can have: what its model takes, within the limits."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from api.http.errors import InvalidRequest
from api.inference.dialects.attachments import Attachments
from api.inference.dialects.message_content import AUDIO_TYPE, FILE_TYPES, IMAGE_TYPES

Json = dict[str, Any]

FILLED = 7 / 8
"""The share of a body's bytes that attachments may take: texts need the rest."""


def fitted(items: Iterable[Json], *, takes: Collection[str], max_bytes: int) -> list[Json]:
    """The items with a line in the place of each attachment that the model does not take.

    `takes` are the input types of the model. From the last item on, as many stay as a request may have:
    images, pixels, recordings, seconds, files, and `max_bytes`.
    """
    fitting = _Fitting(takes, int(max_bytes * FILLED))
    return [fitting.item(item) for item in reversed(list(items))][::-1]


class _Fitting:
    def __init__(self, takes: Collection[str], max_bytes: int) -> None:
        self._takes = takes
        self._bytes_left = max_bytes
        self._counted = Attachments()

    def item(self, item: Json) -> Json:
        key = "output" if "output" in item else "content"
        parts = item.get(key)
        if not isinstance(parts, list) or all(part.get("type") not in _TYPES for part in parts):
            return item
        return {**item, key: [self._part(part) for part in parts]}

    def _part(self, part: Json) -> Json:
        kind = part.get("type")
        if kind in FILE_TYPES:
            return part if self._fits(part) else _line(part.get("filename") or "file")
        if kind in IMAGE_TYPES:
            return part if "image" in self._takes and self._fits(part) else _line("image")
        if kind == AUDIO_TYPE:
            return part if "audio" in self._takes and self._fits(part) else _line("recording")
        return part

    def _fits(self, part: Json) -> bool:
        """Whether the request may have the part besides those that it has already."""
        audio = part.get("input_audio") or {}
        size = len(part.get("image_url") or part.get("file_data") or audio.get("data") or "")
        if size > self._bytes_left:
            return False
        try:
            if part.get("type") in FILE_TYPES:
                self._counted.add_file(part, "")
            elif audio:
                self._counted.recordings.add(part, "")
            else:
                self._counted.add(part, "")
        except InvalidRequest:
            return False
        self._bytes_left -= size
        return True


_TYPES = (*IMAGE_TYPES, *FILE_TYPES, AUDIO_TYPE)


def _line(name: str) -> Json:
    return {"type": "input_text", "text": f"[{name}: not included]"}
