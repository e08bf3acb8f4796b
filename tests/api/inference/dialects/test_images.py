"""Images in requests: parsing, validation, cost, and models that do not accept them."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import openai
import pytest
from flask.testing import FlaskClient

from api.http.errors import InvalidRequest
from api.inference.chat import dialect as chat
from api.inference.chat.schema import ChatRequest
from api.inference.dialects.image_size import MAX_SCANS, blocks_of_request
from api.inference.dialects.image_size import size_of as size_within
from api.inference.dialects.images import MAX_IMAGES
from api.inference.dialects.message_content import IMAGES_OF_CALL
from api.inference.responses import dialect as responses
from api.inference.responses.schema import ResponsesRequest
from config.settings import ModelDefinition, Settings
from generation.generation import Generation, ImagePart, Message, TextPart
from generation.token_estimates import IMAGE_TOKENS
from tests.support.api_fakes import Fakes
from tests.support.pictures import DOT, data_url, png

WIDE = data_url(png(3, 1))
TEXT = {"type": "input_text", "text": "What is "}
IMAGE = {"type": "input_image", "image_url": DOT, "detail": "auto"}
CHAT_IMAGE = {"type": "image_url", "image_url": {"url": DOT, "detail": "low"}}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    seer = ModelDefinition("seer", "stub", options={"stub_image_input": True})
    return replace(settings, models={**settings.models, "seer": seer})


def user(*parts: dict[str, Any], role: str = "user") -> list[dict[str, Any]]:
    return [{"role": role, "content": list(parts)}]


def parse(**body: Any) -> Any:
    full = {"model": "seer", **body}
    ResponsesRequest.check(full)
    return responses.parse(full)


def parse_chat(*messages: dict[str, Any]) -> Any:
    full = {"model": "seer", "messages": list(messages)}
    ChatRequest.check(full)
    return chat.parse(full)


def size_of(data: bytes) -> tuple[int, int] | None:
    return size_within(data, blocks_of_request())


def gif(screen: tuple[int, int], *frames: tuple[int, int, int, int], comment: bytes = b"") -> bytes:
    """A GIF with an empty frame at each place (x, y, width, height)."""
    table = b"\0" * 6
    extension = b"\x21\xfe" + bytes([len(comment)]) + comment + b"\0" if comment else b""
    images = [b"\x2c" + struct.pack("<HHHHB", *frame, 0x80) + table + b"\2\1\0\0" for frame in frames]
    header = b"GIF89a" + struct.pack("<HHBBB", *screen, 0x80, 0, 0) + table
    return header + extension + b"".join(images) + b";"


def webp(*chunks: tuple[bytes, bytes]) -> bytes:
    parts = [kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2) for kind, data in chunks]
    return b"RIFF....WEBP" + b"".join(parts)


def sized(kind: str, width: int, height: int) -> bytes:
    """The parts of a file of that kind that hold its size."""
    if kind == "gif":
        return gif((width, height), (0, 0, width, height))
    if kind == "jpeg":
        return b"\xff\xd8" + JPEG_TABLE + jpeg_frame(width, height) + JPEG_SCAN
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    simple = b"abcdef" + struct.pack("<HH", width | 0x4000, height)
    if kind == "VP8 ":
        return webp((b"VP8 ", simple))
    if kind == "VP8L":
        return webp((b"VP8L", b"/" + struct.pack("<I", (width - 1) | (height - 1) << 14)))
    if kind == "VP8X":
        return webp((b"VP8X", bytes(4) + sides), (b"ALPH", b"abc"), (b"VP8 ", simple))
    return png(width, height)


JPEG_TABLE = b"\xff\xdb" + struct.pack(">H", 5) + b"abc"
JPEG_SCAN = b"\xff\xda" + struct.pack(">H", 2)


def jpeg_frame(width: int, height: int) -> bytes:
    return b"\xff\xc0" + struct.pack(">HBHHB", 8, 8, height, width, 1)


# ---- parsing


def test_an_image_keeps_its_position_between_the_texts() -> None:
    more = {"type": "input_text", "text": "this?"}
    parsed = parse(input=user(TEXT, IMAGE, more, {"type": "input_image", "image_url": WIDE}))
    assert parsed.generation.messages == (
        Message("user", (TextPart("What is "), ImagePart(DOT, "auto"), TextPart("this?"), ImagePart(WIDE))),
    )
    assert parsed.image_params == ("input[0].content[1]", "input[0].content[3]")


def test_both_dialects_parse_the_same_images() -> None:
    message = user({"type": "text", "text": "What is "}, CHAT_IMAGE)[0]
    expected = Message("user", (TextPart("What is "), ImagePart(DOT, "low")))
    earlier = {"role": "assistant", "content": "Hi."}
    parsed = parse_chat(earlier, message)
    assert parsed.generation.messages[1] == expected
    assert parsed.image_params == ("messages[1].content[1]",)
    assert parse(messages=[message]).generation.messages == (expected,)
    low = {**IMAGE, "detail": "low"}
    assert parse(input=user(TEXT, low)).generation.messages == (expected,)


def test_a_message_may_be_an_image_alone() -> None:
    (message,) = parse(input=user(IMAGE)).generation.messages
    assert message == Message("user", (ImagePart(DOT, "auto"),))


@pytest.mark.parametrize("kind", ["png", "gif", "jpeg", "VP8 ", "VP8L", "VP8X"])
def test_the_size_of_each_format_is_known_without_decoding_it(kind: str) -> None:
    assert size_of(sized(kind, 300, 200)) == (300, 200)
    assert size_of(sized(kind, 300, 200)[:9]) is None


def test_the_size_of_a_gif_holds_its_frames_when_they_are_larger_than_the_screen() -> None:
    assert size_of(gif((1, 1), (0, 0, 9000, 3))) == (9000, 3)
    assert size_of(gif((100, 100), (0, 0, 100, 100), (65000, 0, 5, 50), comment=b"x" * 200)) == (65005, 100)
    with pytest.raises(InvalidRequest, match="64 million pixels"):
        parse(input=user({"type": "input_image", "image_url": data_url(gif((1, 1), (0, 0, 9000, 9000)))}))


def test_the_size_of_a_webp_holds_the_images_when_they_are_larger_than_the_canvas() -> None:
    canvas = (b"VP8X", bytes(10))
    large = (b"VP8 ", b"abcdef" + struct.pack("<HH", 9000, 30))
    assert size_of(webp(canvas, large)) == (9000, 30)
    frame = b"".join(side.to_bytes(3, "little") for side in (10, 20, 299, 199)) + bytes(4)
    assert size_of(webp(canvas, (b"ANMF", frame))) == (320, 240)


@pytest.mark.parametrize(
    "data",
    [
        png(1, 1)[:33] + png(9000, 1)[8:33] + png(1, 1)[33:],  # some decoders take the second size
        b"\xff\xd8" + jpeg_frame(1, 1) + jpeg_frame(9000, 9000) + JPEG_SCAN,
        b"\xff\xd8" + JPEG_SCAN + jpeg_frame(9000, 9000),
        gif((5, 5)),
        gif((5, 5), (0, 0, 5, 5))[:-1] + b"\0" + gif((1, 1), (0, 0, 9000, 9000))[19:],
        gif((5, 5), (0, 0, 5, 5))[:-1] + b"\x21\xfe" + b"\1x" * 100_000 + b"\0;",
        png(1, 1)[:33] + (b"\0\0\0\0tEXt" + bytes(4)) * 100_000 + png(1, 1)[33:],
        b"\xff\xd8" + jpeg_frame(1, 1) + JPEG_SCAN * (MAX_SCANS + 1),
    ],
    ids=[
        "two PNG headers",
        "two frames",
        "late frame",
        "no frame",
        "junk",
        "many blocks",
        "many chunks",
        "scans",
    ],
)
def test_a_file_is_no_image_when_its_size_is_uncertain(data: bytes) -> None:
    assert size_of(data) is None


def test_the_blocks_of_all_images_of_a_request_have_one_limit() -> None:
    many = gif((5, 5), (0, 0, 5, 5))[:-1] + b"\x21\xfe" + b"\1x" * 60_000 + b"\0;"
    image = {"type": "input_image", "image_url": data_url(many)}
    assert parse(input=user(image)).image_params == ("input[0].content[0]",)
    with pytest.raises(InvalidRequest) as error:
        parse(input=user(image, image))
    assert error.value.param == "input[0].content[1].image_url"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"RIFF....WAVEfmt ",
        b"RIFF....WEBPALPH",
        b"\x89PNG\r\n\x1a\n....CgBI" + b"\1" * 8,
        b"\xff\xd8\xff\xd0\x00\x02" + sized("jpeg", 1, 1)[2:],  # decoders skip this one in another way
        b"\xff\xd8\xff\xe0\x00\x02j\xe0\x00\x02" + sized("jpeg", 1, 1)[2:],
        b"\xff\xd8" + b"\xff\xe0\x00\x02" * 5000 + sized("jpeg", 1, 1)[2:],
        sized("gif", 0, 5),
    ],
)
def test_data_that_is_no_image_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(input=user({"type": "input_image", "image_url": data_url(data)}))
    assert (caught.value.code, caught.value.param) == ("invalid_request", "input[0].content[0].image_url")


@pytest.mark.parametrize("written", [DOT.replace("iVBOR", "iVB\r\n OR"), DOT.rstrip("="), DOT + "\n"])
def test_base64_of_several_lines_or_without_padding_is_read(written: str) -> None:
    parsed = parse(input=user({"type": "input_image", "image_url": written}))
    assert parsed.generation.messages[0].images == (ImagePart(DOT),)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://example.com/a.png", "unsupported_input"),
        ("file:///etc/passwd", "unsupported_input"),
        ("data:image/svg+xml;base64,PHN2Zy8+", "unsupported_input"),
        ("data:image/png,abc", "unsupported_input"),
        ("data:image/png;base64,iVBOR", "invalid_request"),
        (DOT.replace("iVBOR", "iVB=OR"), "invalid_request"),
        (DOT + "\u00e9", "invalid_request"),
        ("data:image/png;base64,", "invalid_request"),
    ],
)
def test_an_image_is_a_data_url_and_nothing_is_fetched(url: str, code: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(input=user(TEXT, {"type": "input_image", "image_url": url}))
    assert (caught.value.code, caught.value.param) == (code, "input[0].content[1].image_url")
    with pytest.raises(InvalidRequest) as caught:
        parse_chat(*user({"type": "image_url", "image_url": {"url": url}}))
    assert (caught.value.code, caught.value.param) == (code, "messages[0].content[0].image_url.url")


def test_an_image_by_file_id_is_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(input=user({"type": "input_image", "file_id": "file-1", "image_url": None, "detail": "auto"}))
    assert (caught.value.code, caught.value.param) == ("unsupported_input", "input[0].content[0].file_id")
    with pytest.raises(InvalidRequest) as caught:
        parse(input=user({"type": "input_image"}))
    assert (caught.value.code, caught.value.param) == ("invalid_request", "input[0].content[0].image_url")


@pytest.mark.parametrize("role", ["system", "developer", "assistant"])
def test_an_image_is_refused_outside_user_messages(role: str) -> None:
    for send in (
        lambda: parse(input=user(IMAGE, role=role)),
        lambda: parse_chat(*user(CHAT_IMAGE, role=role)),
    ):
        with pytest.raises(InvalidRequest) as caught:
            send()
        assert caught.value.code == "unsupported_input"
        assert str(caught.value.param).endswith("[0].content[0]")


def test_images_of_tool_messages_follow_the_last_of_them_in_a_message_of_the_user() -> None:
    results = [{"role": "tool", "tool_call_id": id, "content": [CHAT_IMAGE]} for id in ("a", "b")]
    for after in ([], [{"role": "assistant", "content": "Yes."}], [{"role": "user", "content": "And?"}]):
        first, second, shown, *_ = parse_chat(*results, *after).generation.messages
        assert [(one.role, one.text, one.images) for one in (first, second)] == [("tool", "", ())] * 2
        assert (shown.role, len(shown.images)) == ("user", 2)
        assert shown.text.startswith(IMAGES_OF_CALL.format("a") + IMAGES_OF_CALL.format("b"))


def test_the_number_and_the_pixels_of_a_request_s_images_are_limited() -> None:
    assert len(parse(input=user(*[IMAGE] * MAX_IMAGES)).image_params) == MAX_IMAGES
    with pytest.raises(InvalidRequest) as caught:
        parse(input=[*user(*[IMAGE] * MAX_IMAGES), *user(TEXT, IMAGE)])
    assert (caught.value.code, caught.value.param) == ("unsupported_input", "input[1].content[1]")
    large = {"type": "input_image", "image_url": data_url(sized("gif", 8000, 5000))}
    parse(input=user(large))
    with pytest.raises(InvalidRequest, match="64 million pixels") as caught:
        parse(input=user(large, large))
    assert caught.value.param == "input[0].content[1]"


# ---- admission


def test_the_cost_of_an_image_does_not_depend_on_its_bytes(http: FlaskClient, fakes: Fakes) -> None:
    for url in (DOT, DOT + "A" * 400_000):
        http.post("/v1/responses", json={"model": "seer", "input": user(TEXT, {**IMAGE, "image_url": url})})
    small, large = fakes.ledger.jobs.values()
    assert len(large.generation) > 400_000
    assert small.cost == large.cost
    http.post("/v1/responses", json={"model": "seer", "input": user(TEXT)})
    plain = list(fakes.ledger.jobs.values())[-1]
    assert IMAGE_TOKENS < small.cost - plain.cost < IMAGE_TOKENS + 20


@pytest.mark.rule("models/modalities")
@pytest.mark.parametrize("model", ["demo", "org/plain"])
def test_an_image_is_refused_when_the_model_accepts_text_only(
    http: FlaskClient, fakes: Fakes, model: str
) -> None:
    for path, body, param in (
        ("responses", {"input": user(TEXT, IMAGE)}, "input[0].content[1]"),
        ("responses", {"messages": user(CHAT_IMAGE)}, "messages[0].content[0]"),
        ("chat/completions", {"messages": user(CHAT_IMAGE)}, "messages[0].content[0]"),
    ):
        answer = http.post(f"/v1/{path}", json={"model": model, **body})
        assert (answer.status_code, answer.json["error"]["code"]) == (400, "image_unsupported")
        assert answer.json["error"]["param"] == param
        assert answer.json["error"]["message"] == f"model {model} does not accept images, only text"
    assert not fakes.ledger.jobs


def test_images_of_the_sdk_reach_the_ledger(sdk: openai.OpenAI, fakes: Fakes) -> None:
    response = sdk.responses.create(
        model="seer",
        input=[
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "What is "},
                    {"type": "input_image", "image_url": DOT, "detail": "high"},
                ],
            }
        ],
    )
    assert response.output_text == "Hello."
    sdk.chat.completions.create(
        model="seer",
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is "},
                    {"type": "image_url", "image_url": {"url": DOT, "detail": "high"}},
                ],
            }
        ],
    )
    for job in fakes.ledger.jobs.values():
        (message,) = Generation.from_json(job.generation).messages
        assert message == Message("user", (TextPart("What is "), ImagePart(DOT, "high")))


def test_the_sdk_raises_for_an_image_that_the_model_does_not_accept(sdk: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.responses.create(
            model="demo",
            input=[
                {
                    "role": "user",
                    "content": [{"type": "input_image", "image_url": DOT, "detail": "auto"}],
                }
            ],
        )
    assert (caught.value.code, caught.value.param) == ("image_unsupported", "input[0].content[0]")
