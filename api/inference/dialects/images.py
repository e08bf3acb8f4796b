"""The images of a request: data URLs, checked before any engine decodes them.

Nothing is fetched. Only the base64 is decoded, and the container of the file is read for its sizes
(`image_size`). The limits protect the engines: a small file can decode to gigabytes of pixels, in a process
that serves many requests.
"""

from __future__ import annotations

import re
from typing import Any

from api.http.errors import InvalidRequest
from api.inference.dialects.base64_data import decode_base64
from api.inference.dialects.image_size import Size, blocks_of_request, size_of
from generation.generation import ImagePart

MAX_IMAGES = 32
MAX_PIXELS = 64_000_000
"""The limit for all images of a request together; a decoded pixel takes three bytes or more."""

_PREFIX = re.compile(r"data:image/(?:png|jpe?g|webp|gif);base64,")


_FIRST_BASE64 = {"iVBORw0KGgo": "png", "/9j/": "jpeg", "UklGR": "webp", "R0lGOD": "gif"}
"""The base64 of the first bytes of each file type."""


class PixelCount:
    """The pixels of all images of one request together."""

    __slots__ = ("_pixels",)

    def __init__(self) -> None:
        self._pixels = 0

    def add(self, size: Size, param: str) -> None:
        """Count an image. Raises `InvalidRequest` beyond `MAX_PIXELS`."""
        self._pixels += size[0] * size[1]
        if self._pixels > MAX_PIXELS:
            millions = MAX_PIXELS // 1_000_000
            raise _unsupported(
                f"the images of a request may have at most {millions} million pixels together", param
            )


class Images:
    """The images of one request, counted as they are read; `params` are their paths in the body."""

    __slots__ = ("_blocks", "_pixels", "params")

    def __init__(self) -> None:
        self.params: list[str] = []
        self._pixels = PixelCount()
        self._blocks = blocks_of_request()

    def add(self, part: dict[str, Any], param: str) -> ImagePart:
        """Read an image part; `param` is its path (`input[0].content[1]`). Raises `InvalidRequest`."""
        url, url_param = part.get("image_url"), f"{param}.image_url"
        if part.get("file_id") is not None:
            raise _unsupported("file_id is not supported: send the image as a data: URL", f"{param}.file_id")
        detail = part.get("detail")
        if isinstance(url, dict):  # the form of Chat Completions
            url, detail, url_param = url["url"], url.get("detail"), f"{url_param}.url"
        if url is None:
            raise InvalidRequest("image_url is required", param=url_param)
        return self.add_url(url, detail, param, url_param)

    def add_url(self, url: str, detail: str | None, param: str, url_param: str) -> ImagePart:
        """Add the image of a data URL, which stands at the path `url_param`. Raises `InvalidRequest`."""
        data, plain_url = _decode(url, url_param)
        self._count(data, param, url_param)
        return ImagePart(plain_url, detail)

    def add_base64(self, data: str, param: str) -> ImagePart:
        """Add an image of base64 alone (Ollama), whose type its first bytes show, or of a data URL.

        Raises `InvalidRequest`.
        """
        if data.startswith("data:"):
            return self.add_url(data, None, param, param)
        data = data.lstrip()
        kind = next((kind for start, kind in _FIRST_BASE64.items() if data.startswith(start)), None)
        if kind is None:
            raise InvalidRequest("the image is not a PNG, JPEG, WebP or GIF file in base64", param=param)
        return self.add_url(f"data:image/{kind};base64,{data}", None, param, param)

    def _count(self, data: bytes, param: str, url_param: str) -> None:
        size = size_of(data, self._blocks)
        if size is None or 0 in size:
            raise InvalidRequest("the image is not a PNG, JPEG, WebP or GIF file", param=url_param)
        self.params.append(param)
        if len(self.params) > MAX_IMAGES:
            raise _unsupported(f"a request may contain at most {MAX_IMAGES} images", param)
        self._pixels.add(size, param)


def _unsupported(message: str, param: str) -> InvalidRequest:
    return InvalidRequest(message, code="unsupported_input", param=param)


def _decode(url: str, param: str) -> tuple[bytes, str]:
    """The bytes of a data URL, and the URL with its base64 in one line. Raises `InvalidRequest`."""
    prefix = _PREFIX.match(url)
    if prefix is None:
        raise _unsupported(
            "an image must be a data: URL (data:image/png;base64,..., or jpeg, webp, gif): images are "
            "not fetched from other URLs",
            param,
        )
    try:
        encoded = url[prefix.end() :]
        data, plain = decode_base64(encoded)
        return data, url if plain is encoded else prefix[0] + plain
    except ValueError:
        raise InvalidRequest("the image is not valid base64", param=param) from None
