"""Whether the uploads of a request are images that a decoder can take: types and sizes, by their headers.

Each is one image: a decoder makes a canvas of each frame of an animation, which a small file has many of.
"""

from __future__ import annotations

from struct import error, unpack_from

from api.http.errors import InvalidRequest
from api.inference.dialects.image_size import blocks_of_request, size_of
from api.inference.dialects.images import PixelCount

HEAD_BYTES = 1 << 20
"""What is read of an upload; encoders write the size into the first few hundred bytes."""

MAX_PICTURES = 8
"""Of a JPEG in the format MPO (CIPA DC-007): phones add previews, and a map of brightness."""

ANIMATED = 0x02
"""The flag of a WebP with an animation (RFC 9649, 2.7)."""


class PixelBudget:
    """The pixels that the uploads of one request may have together: a small file can decode to gigabytes."""

    def __init__(self) -> None:
        self._pixels = PixelCount()
        self._blocks = blocks_of_request()
        self.largest = 0
        """The pixels of the largest image."""

    def take(self, head: bytes, param: str) -> None:
        """Count an image by its first `HEAD_BYTES`. Raises `InvalidRequest`."""
        head = head[:HEAD_BYTES]
        size = None if head.startswith(b"GIF8") else size_of(head, self._blocks)
        if size is None or 0 in size:
            raise InvalidRequest("the image is not a PNG, JPEG or WebP file", param=param)
        if _has_frames(head):
            raise InvalidRequest(
                "the image has several frames: send one image", code="unsupported_input", param=param
            )
        self.largest = max(self.largest, size[0] * size[1])
        self._pixels.add(size, param)


def _has_frames(head: bytes) -> bool:
    """Whether a PNG or WebP is an animation, or a JPEG has more pictures than a camera writes."""
    if head.startswith(b"\x89PNG"):
        return b"acTL" in head[: head.find(b"IDAT")]
    if head.startswith(b"RIFF"):
        return head[12:16] == b"VP8X" and bool(head[20] & ANIMATED)
    return _pictures(head) > MAX_PICTURES


def _pictures(head: bytes) -> int:
    """How many pictures a JPEG has by its index (MPF, CIPA DC-007, 5.2); 1 without one."""
    at = head.find(b"MPF\0")
    if at < 0:
        return 1
    at += 4
    order = "<" if head[at : at + 2] == b"II" else ">"
    try:
        at += unpack_from(f"{order}I", head, at + 4)[0]
        for entry in range(unpack_from(f"{order}H", head, at)[0]):
            tag, _, _, value = unpack_from(f"{order}HHII", head, at + 2 + 12 * entry)
            if tag == 0xB001:
                return int(value)
    except error:  # it is cut off
        return MAX_PICTURES + 1
    return 1
