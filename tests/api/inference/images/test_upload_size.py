"""Which uploads are images that a decoder can take."""

from __future__ import annotations

from struct import pack

import pytest

from api.http.errors import InvalidRequest
from api.inference.images.upload_size import MAX_PICTURES, PixelBudget
from tests.support.pictures import png

PNG = png(8, 6)
JPEG_END = b"\xff\xc0" + pack(">HBHH", 17, 8, 6, 8) + b"\x03" + bytes(9) + b"\xff\xda\x00\x08"


def jpeg(pictures: int | None = None) -> bytes:
    """The head of a JPEG, with an index of so many pictures."""
    if pictures is None:
        return b"\xff\xd8" + JPEG_END
    index = b"MPF\0MM\0*" + pack(">I", 8) + pack(">H", 1) + pack(">HHII", 0xB001, 4, 1, pictures)
    return b"\xff\xd8\xff\xe2" + pack(">H", 2 + len(index)) + index + JPEG_END


def webp(flags: int) -> bytes:
    chunk = b"VP8X" + pack("<I", 10) + bytes([flags, 0, 0, 0]) + b"\x07\x00\x00\x05\x00\x00"
    return b"RIFF" + pack("<I", 4 + len(chunk)) + b"WEBP" + chunk


@pytest.mark.parametrize("image", [PNG, jpeg(), jpeg(3), webp(0)])
def test_an_image_counts_its_pixels(image: bytes) -> None:
    budget = PixelBudget()
    budget.take(image, "image")
    assert budget.largest == 48


@pytest.mark.parametrize(
    "image",
    [
        PNG[:33] + pack(">I", 8) + b"acTL" + pack(">II", 1000, 0) + b"crc." + PNG[33:],
        webp(2),
        jpeg(MAX_PICTURES + 1),
    ],
)
def test_an_image_with_several_frames_is_refused(image: bytes) -> None:
    with pytest.raises(InvalidRequest, match="several frames") as refused:
        PixelBudget().take(image, "image")
    assert (refused.value.code, refused.value.param) == ("unsupported_input", "image")


@pytest.mark.parametrize("image", [b"", b"text", b"GIF89a" + bytes(40), PNG[:20]])
def test_a_file_that_is_no_image_is_refused(image: bytes) -> None:
    with pytest.raises(InvalidRequest, match="not a PNG, JPEG or WebP"):
        PixelBudget().take(image, "image")


def test_the_pixels_of_all_images_together_are_bounded() -> None:
    budget = PixelBudget()
    large = PNG[:16] + pack(">II", 7000, 7000) + PNG[24:]
    budget.take(large, "image")
    with pytest.raises(InvalidRequest, match="64 million"):
        budget.take(large, "image")
