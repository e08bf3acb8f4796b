"""The answer with images as base64, made in parts: an image may have many megabytes."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from api.http.paced_answer import PacedAnswer
from api.inference.media.results import no_such_result

PART_BYTES = 3 * 64 * 1024
"""Of a file, in each part; base64 has no padding in between, since it is divisible by 3."""

PLACE = b'"data":[]'


class ImageAnswer(PacedAnswer):
    """`answer` is the object whose `data` are empty; the images at `paths` come into it."""

    def __init__(self, answer: dict[str, Any], paths: Sequence[Path]) -> None:
        super().__init__({"Content-Type": "application/json"})
        self._parts = self._all_parts(orjson.dumps(answer), paths)

    async def next_part(self) -> bytes | None:
        """The next part, read in a thread; None at the end. Raises `NotFound` for an image that is gone."""
        return await asyncio.to_thread(next, self._parts, None)

    @staticmethod
    def _all_parts(form: bytes, paths: Sequence[Path]) -> Iterator[bytes]:
        before, _, after = form.partition(PLACE)
        lead = before + b'"data":['
        for path in paths:
            try:
                with path.open("rb") as file:
                    lead += b'{"b64_json":"'
                    while part := file.read(PART_BYTES):
                        yield lead + base64.b64encode(part)
                        lead = b""
            except FileNotFoundError:
                raise no_such_result() from None
            lead += b'"},'
        yield lead.removesuffix(b",") + b"]" + after
