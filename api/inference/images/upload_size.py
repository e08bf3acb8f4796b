"""Whether the uploads of a request are images that a decoder can take: types and sizes, by their headers."""

from __future__ import annotations

from api.http.errors import InvalidRequest
from api.inference.dialects.image_size import blocks_of_request, size_of
from api.inference.dialects.images import MAX_PIXELS

HEAD_BYTES = 1 << 20
"""What is read of an upload; encoders write the size into the first few hundred bytes."""


class PixelBudget:
    """The pixels that the uploads of one request may have together: a small file can decode to gigabytes."""

    def __init__(self) -> None:
        self._left = MAX_PIXELS
        self._blocks = blocks_of_request()

    def take(self, head: bytes, param: str) -> None:
        """Count an image by its first `HEAD_BYTES`. Raises `InvalidRequest`."""
        size = size_of(head[:HEAD_BYTES], self._blocks)
        if size is None or 0 in size:
            raise InvalidRequest("the image is not a PNG, JPEG, WebP or GIF file", param=param)
        self._left -= size[0] * size[1]
        if self._left < 0:
            millions = MAX_PIXELS // 1_000_000
            raise InvalidRequest(
                f"the images of a request may have at most {millions} million pixels together",
                code="unsupported_input",
                param=param,
            )
