"""Images through the official SDK: in one piece, as URLs, as a stream, and changed ones."""

from __future__ import annotations

import base64
import struct
import urllib.error
import urllib.request
from typing import Any

import openai
import pytest

from tests.support.pictures import png
from tests.support.platform import Platform

PNG = b"\x89PNG\r\n\x1a\n"
IMAGE = png(4, 4)


def make(sdk: openai.OpenAI, **fields: Any) -> Any:
    return sdk.images.generate(**{"model": "painter", "prompt": "a square", "size": "64x32", **fields})


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(PNG)
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_sdk_gets_images_as_base64(sdk: openai.OpenAI) -> None:
    answer = make(sdk, n=2, extra_body={"seed": 7})
    images = [base64.b64decode(one.b64_json or "") for one in answer.data]
    assert [size_of(image) for image in images] == [(64, 32)] * 2
    assert images[0] != images[1]
    assert (answer.size, answer.output_format, answer.background) == ("64x32", "png", "opaque")
    again = make(sdk, n=2, extra_body={"seed": 7})
    assert [one.b64_json for one in again.data] == [one.b64_json for one in answer.data]


def test_a_large_image_is_answered_in_parts(sdk: openai.OpenAI) -> None:
    (image,) = make(sdk, size="1024x1024").data
    assert size_of(base64.b64decode(image.b64_json or "")) == (1024, 1024)


def test_sdk_gets_a_url_that_needs_no_key_and_refuses_every_change(
    shared: Platform, sdk: openai.OpenAI
) -> None:
    (image,) = make(sdk, response_format="url").data
    url: str = image.url
    assert url.startswith(f"{shared.url}/v1/media/img_")
    with urllib.request.urlopen(url, timeout=60) as answer:
        assert size_of(answer.read()) == (64, 32)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Disposition"] == "attachment"
        assert answer.headers["Content-Type"] == "image/png"
    path, _, query = url.partition("?")
    expires, _, signature = query.partition("&")
    for altered in (
        path,
        f"{path}?{expires}",
        f"{path}?{expires}0&{signature}",
        f"{path}?expires=1&{signature}",
        url[:-1] + ("0" if url[-1] != "0" else "1"),
        url.replace("image-0.png", "image-1.png"),
        url.replace("img_", "trs_"),
        f"{path}?expires=%C2%B2&{signature}",
    ):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(altered, timeout=60)
        assert refused.value.code == 404


def test_sdk_streams_unfinished_images_before_the_finished_one(sdk: openai.OpenAI) -> None:
    events = list(make(sdk, stream=True, partial_images=2))
    assert [event.type for event in events] == [
        "image_generation.partial_image",
        "image_generation.partial_image",
        "image_generation.completed",
    ]
    assert [event.partial_image_index for event in events[:2]] == [0, 1]
    assert all(size_of(base64.b64decode(event.b64_json)) == (64, 32) for event in events)
    assert events[-1].usage.total_tokens == 0


def test_sdk_changes_images(sdk: openai.OpenAI) -> None:
    answer: Any = sdk.images.edit(
        model="painter",
        prompt="a circle",
        image=[("a.png", IMAGE), ("b.png", IMAGE)],
        mask=("m.png", IMAGE),
        size="64x32",  # type: ignore[arg-type]
    )
    assert size_of(base64.b64decode(answer.data[0].b64_json or "")) == (64, 32)
    events = list(sdk.images.edit(model="painter", prompt="a circle", image=("a.png", IMAGE), stream=True))
    assert [event.type for event in events] == ["image_edit.completed"]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"size": "1x1"}, "size"),
        ({"size": "99999x99999"}, "size"),
        ({"n": 11}, "n"),
        ({"quality": "wonderful"}, "quality"),
        ({"background": "transparent"}, "background"),
        ({"stream": True, "n": 2}, "n"),
        ({"stream": True, "response_format": "url"}, "response_format"),
        ({"prompt": ""}, "prompt"),
    ],
)
def test_a_request_that_does_not_fit_is_refused_with_its_field(
    sdk: openai.OpenAI, fields: dict[str, Any], param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        make(sdk, **fields)
    assert refused.value.param == param


def test_an_edit_without_an_image_is_refused(shared: Platform) -> None:
    body = b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\npainter\r\n'
    body += b'--b\r\nContent-Disposition: form-data; name="prompt"\r\n\r\nx\r\n--b--\r\n'
    request = urllib.request.Request(
        f"{shared.url}/v1/images/edits",
        body,
        {
            "Content-Type": "multipart/form-data; boundary=b",
            "Authorization": f"Bearer {shared.keys['api_key']}",
        },
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=60)
    assert (refused.value.code, b"`image`" in refused.value.read()) == (400, True)


def test_the_images_of_a_killed_engine_are_an_error(shared: Platform, sdk: openai.OpenAI) -> None:
    with pytest.raises(openai.APIError):
        make(sdk, prompt="/stub crash_after=2 x")
    shared.wait_state("painter", "loaded", 60)
    assert make(sdk).data
