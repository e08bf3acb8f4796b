"""Attachments: pictures, PDFs and texts; what a model cannot take is refused before it is sent."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.support import pdf_files
from tests.support.pictures import png
from tests.ui.browser.chat.chat_page import ChatPage

pytestmark = [pytest.mark.browser, pytest.mark.journey]

NO_IMAGES = "This model does not accept images. Choose one that does, or remove the image."
WAV = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\0\0\0\0"

TRANSFER = """([event, name, type, bytes]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([new Uint8Array(bytes)], name, { type }));
    const target = event === 'paste' ? document.activeElement : document.querySelector('main');
    const init = { bubbles: true, cancelable: true };
    const made = event === 'paste'
        ? new ClipboardEvent(event, { ...init, clipboardData: transfer })
        : new DragEvent(event, { ...init, dataTransfer: transfer });
    target.dispatchEvent(made);
}"""


def attach(chat: ChatPage, name: str, type: str, content: bytes) -> Any:
    """Choose a file; returns its row above the text."""
    chat.page.get_by_test_id("attach").set_input_files({"name": name, "mimeType": type, "buffer": content})
    return row_of(chat, name)


def row_of(chat: ChatPage, name: str) -> Any:
    row = chat.page.get_by_role("list", name="Attached files").get_by_role("listitem").filter(has_text=name)
    row.wait_for()
    return row


def sent_images(body: dict[str, Any]) -> list[str]:
    content = body["input"][-1]["content"]
    return [part["image_url"] for part in content if part["type"] == "input_image"]


def send(chat: ChatPage, text: str) -> dict[str, Any]:
    """Send what is written; returns the body of the request."""
    with chat.page.expect_request(lambda one: "/v1/responses?" in one.url) as request:
        chat.send(text)
    chat.wait_for("done")
    body: dict[str, Any] = json.loads(request.value.post_data)
    return body


SIZE = """async address => {
    const image = new Image();
    image.src = address;
    await image.decode();
    return [image.naturalWidth, image.naturalHeight];
}"""


def test_a_picture_is_shrunk_before_it_is_sent(chat: ChatPage) -> None:
    chat.choose("seeing")
    attach(chat, "large.png", "image/png", png(3200, 1000)).get_by_text(re.compile("Image, ")).wait_for()
    (image,) = sent_images(send(chat, "/stub echo seen"))
    assert chat.page.evaluate(SIZE, image) == [1600, 500]
    assert chat.text() == "seen"


def test_pictures_are_pasted_and_dropped_and_one_is_removed(chat: ChatPage) -> None:
    chat.choose("seeing")
    chat.composer.click()
    content = list(png(8, 8))
    chat.page.evaluate(TRANSFER, ["paste", "pasted.png", "image/png", content])
    row_of(chat, "pasted.png").get_by_text(re.compile("Image, ")).wait_for()
    chat.page.evaluate(TRANSFER, ["drop", "dropped.png", "image/png", content])
    row_of(chat, "dropped.png").get_by_text(re.compile("Image, ")).wait_for()
    chat.page.get_by_role("button", name="Remove pasted.png").click()
    row_of(chat, "dropped.png")
    assert len(sent_images(send(chat, "/stub echo seen"))) == 1


def test_a_picture_is_refused_before_it_is_sent_to_a_model_that_takes_none(chat: ChatPage) -> None:
    chat.choose("seeing")
    row = attach(chat, "a.png", "image/png", png(8, 8))
    row.get_by_text(re.compile("Image, ")).wait_for()
    chat.composer.fill("look")
    chat.choose("stub")
    row.get_by_text(NO_IMAGES).wait_for()
    assert chat.page.get_by_role("button", name="Send", exact=True).is_disabled()
    chat.choose("seeing")
    row.get_by_text(NO_IMAGES).wait_for(state="hidden")
    assert chat.page.get_by_role("button", name="Send", exact=True).is_enabled()


def test_text_model_answers_without_the_pictures_of_the_conversation_after_a_notice(chat: ChatPage) -> None:
    chat.choose("seeing")
    attach(chat, "a.png", "image/png", png(8, 8)).get_by_text(re.compile("Image, ")).wait_for()
    send(chat, "/stub echo seen")
    chat.choose("stub")
    notice = chat.page.get_by_text("stub does not see an attachment of this conversation")
    notice.wait_for()
    body = send(chat, "/stub echo read")
    assert body["input"][0]["content"][0]["text"] == "[a.png: not included]"
    chat.page.get_by_role("button", name="Choose another model").click()
    chat.page.get_by_role("combobox", name="Find a model").fill("seeing")
    chat.page.get_by_role("option").first.click()
    notice.wait_for(state="hidden")


def test_sound_is_refused_with_its_reason_where_the_model_takes_none(chat: ChatPage) -> None:
    chat.choose("seeing")
    attach(chat, "a.wav", "audio/wav", WAV).get_by_text("This model does not accept audio").wait_for()
    chat.composer.fill("listen")
    assert chat.page.get_by_role("button", name="Send", exact=True).is_disabled()


def test_a_text_and_the_text_of_a_pdf_are_sent_as_documents(chat: ChatPage) -> None:
    chat.choose("stub")
    attach(chat, "a.txt", "text/plain", b"a small text").get_by_text(re.compile("Text, ")).wait_for()
    attach(chat, "b.pdf", "application/pdf", pdf_files.pdf("words of the page")).get_by_text(
        re.compile("PDF, ")
    ).wait_for()
    body = send(chat, "/stub echo read")
    assert [part["type"] for part in body["input"][-1]["content"]] == [
        "input_file",
        "input_file",
        "input_text",
    ]


def test_pages_of_a_pdf_are_sent_as_pictures_where_the_model_sees(chat: ChatPage) -> None:
    chat.choose("seeing")
    row = attach(chat, "b.pdf", "application/pdf", pdf_files.pdf("one", "two"))
    row.get_by_role("button", name="Send its pages as pictures").click()
    row.get_by_text(re.compile("2 pages as pictures")).wait_for()
    assert len(sent_images(send(chat, "/stub echo seen"))) == 2


@pytest.mark.parametrize(
    ("name", "type", "content", "reason"),
    [
        ("bomb.png", "image/png", png(60_000, 60_000, rows=b"\0" * 1000), "It is too large."),
        ("broken.png", "image/png", png(8, 8)[:40], "It cannot be read."),
        ("locked.pdf", "application/pdf", pdf_files.encrypted(), re.compile("password|cannot be read")),
        ("broken.pdf", "application/pdf", b"%PDF-1.4\n%%EOF", "It cannot be read."),
        ("program.bin", "application/octet-stream", bytes(range(256)) * 9, "It is neither an image"),
        ("empty.txt", "text/plain", b"", "It is empty."),
        ("long.txt", "text/plain", b"x" * (3 << 20), "It is too large."),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value[-5:] else "",
)
def test_a_hostile_or_broken_file_is_refused_with_its_reason(
    chat: ChatPage, name: str, type: str, content: bytes, reason: Any
) -> None:
    row = attach(chat, name, type, content)
    row.get_by_text(reason).wait_for()
    chat.page.get_by_role("button", name=f"Remove {name}").click()
    row.wait_for(state="hidden")
    assert chat.ask("/stub echo fine", "stub") == "fine"
    chat.expect("Indexing all PDF objects")  # pdf.js looks for what a broken file has
