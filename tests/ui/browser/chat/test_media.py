"""Images, recordings and speech in the chat, with models of the stub and a microphone of the browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.pictures import png
from tests.support.platform import Platform, running_platform
from tests.ui.browser.chat.chat_page import ChatPage
from tests.ui.browser.chat.conftest import Browser
from tests.ui.browser.chat.test_attachments import attach
from tests.ui.browser.conftest import ARGUMENTS, CHROMIUM, check_accessible, close, wait_in_page

pytestmark = [pytest.mark.browser, pytest.mark.journey]

STUB = {"backend": "stub", "enabled": True}
MODELS = {
    "stub": {**STUB, "target_inflight": 4},
    "painter": {**STUB, "target_inflight": 2, "stub_media": "image"},
    "easel": {**STUB, "target_inflight": 1, "stub_media": "image"},
    "scribe": {**STUB, "target_inflight": 2, "stub_media": "transcript"},
    "voice": {**STUB, "target_inflight": 2, "stub_media": "speech"},
}
MICROPHONE = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
PIXELS = "image => image.decode().then(() => [image.naturalWidth, image.naturalHeight])"


@pytest.fixture(scope="module")
def media_platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with running_platform(
        tmp_path_factory.mktemp("media"),
        {"models": MODELS},
        *("--port", "0", "--no-flower"),
        environment={"CUDA_VISIBLE_DEVICES": ""},
    ) as platform:
        for model in MODELS:
            platform.wait_state(model, "loaded", 60)
        yield platform


@pytest.fixture
def chat(browser: Browser, media_platform: Platform) -> ChatPage:
    """The chat on a desk, in a browser that has no microphone."""
    return browser(platform=media_platform).open()


@pytest.fixture(scope="module")
def speaking_chromium(chromium: Any) -> Iterator[Any]:
    """A browser whose microphone plays a tone, and that allows its use."""
    launched = chromium.browser_type.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, *MICROPHONE])
    yield launched
    launched.close()


@pytest.fixture
def speaking(speaking_chromium: Any, media_platform: Platform) -> Iterator[ChatPage]:
    """The chat in a browser with a microphone."""
    context = speaking_chromium.new_context(viewport={"width": 1280, "height": 800})
    chat = ChatPage(context, media_platform.url)
    chat.sign_in(media_platform.keys["api_key"])
    yield chat.open()
    close(context)
    assert chat.problems == []


RECORDED = """seconds => {
    const shown = document.querySelector('[data-testid=recorded]').textContent;
    const [minutes, rest] = shown.split(':').map(Number);
    return 60 * minutes + rest >= seconds;
}"""


def image_of(chat: ChatPage) -> Any:
    return chat.answer().locator("figure img")


def record(chat: ChatPage, seconds: int = 1, button: str = "Record with the microphone") -> Any:
    """Begin to record; returns the panel once so many seconds, at least, are recorded."""
    chat.page.get_by_role("button", name=button).click()
    panel = chat.page.get_by_role("group", name="Microphone")
    wait_in_page(chat.page, RECORDED, seconds)
    return panel


def test_image_is_made_after_a_prompt_and_is_there_after_a_reload(chat: ChatPage) -> None:
    chat.choose("painter")
    assert chat.page.get_by_role("button", name="Tools").count() == 0
    assert chat.page.get_by_role("button", name="Send", exact=True).is_disabled()
    chat.ask("a red lighthouse")
    image = image_of(chat)
    assert image.get_attribute("alt") == "a red lighthouse"
    assert image.evaluate(PIXELS) == [1024, 1024]
    assert re.search(r"1024 . 1024 · seed \d+ · ", chat.answer().locator("figcaption").inner_text())
    chat.reload()
    assert image_of(chat).evaluate(PIXELS) == [1024, 1024]
    with chat.page.expect_download() as download:
        chat.answer().get_by_role("button", name="Save a red lighthouse.png").click()
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
    image_of(chat).click()
    chat.page.get_by_role("dialog").get_by_role("img", name="a red lighthouse").wait_for()
    with chat.context.expect_page() as opened:
        chat.page.get_by_role("button", name="Open in full size").click()
    assert opened.value.url.startswith("blob:")


def test_unfinished_images_are_shown_and_a_stop_ends_the_request(chat: ChatPage) -> None:
    chat.choose("painter")
    chat.send("/stub tokens_per_s=1 a house")
    answer = chat.answer()
    answer.get_by_role("img", name="The unfinished image").wait_for()
    answer.get_by_text(re.compile("Making the image: [0-9]+ %")).wait_for()
    chat.stop()
    chat.wait_for("stopped")
    assert image_of(chat).count() == 0
    chat.answer_again()
    chat.wait_for("running")
    chat.stop()
    chat.wait_for("stopped")
    chat.answer().get_by_role("group", name="Version 2 of 2").wait_for()


def test_answer_again_makes_another_image_beside_the_first(chat: ChatPage) -> None:
    chat.choose("painter")
    chat.ask("a house")
    first = chat.answer().locator("figcaption").inner_text()
    chat.answer_again()
    chat.wait_for("done")
    chat.answer().get_by_role("group", name="Version 2 of 2").wait_for()
    assert chat.answer().locator("figcaption").inner_text() != first
    chat.act("Earlier version")
    chat.answer().get_by_role("group", name="Version 1 of 2").wait_for()
    assert chat.answer().locator("figcaption").inner_text() == first


def test_chosen_seed_is_sent_and_kept_for_the_next_visit(chat: ChatPage) -> None:
    chat.choose("painter")
    seed = chat.page.get_by_label("Seed")
    seed.fill("many")
    chat.composer.click()
    chat.page.get_by_text("A whole number from 0 to 2147483647.").wait_for()
    seed.fill("77")
    chat.ask("a house")
    chat.answer().get_by_text(re.compile("seed 77 ")).wait_for()
    chat.reload()
    wait_in_page(chat.page, "() => document.querySelector('input[inputmode=numeric]')?.value === '77'")


def test_attached_image_is_changed(chat: ChatPage) -> None:
    chat.choose("painter")
    attach(chat, "a.png", "image/png", png(8, 8)).get_by_text(re.compile("Image, ")).wait_for()
    with chat.page.expect_request(lambda one: "/v1/images/edits" in one.url) as request:
        chat.send("make it blue")
    assert request.value.headers["content-type"].startswith("multipart/form-data")
    chat.wait_for("done")
    assert image_of(chat).evaluate(PIXELS) == [1024, 1024]


def test_image_goes_on_after_a_reload(chat: ChatPage) -> None:
    chat.choose("painter")
    chat.send("/stub tokens_per_s=1 a house")
    chat.answer().get_by_role("img", name="The unfinished image").wait_for()
    chat.reload()
    chat.wait_for("done")
    assert image_of(chat).evaluate(PIXELS) == [1024, 1024]
    assert chat.answers.count() == 1


def test_waiting_request_has_its_place_in_the_queue(chat: ChatPage) -> None:
    chat.choose("easel")
    chat.send("/stub tokens_per_s=0.5 a house")
    chat.wait_for("running")
    other = chat.another_tab()
    other.choose("easel")
    other.send("a second house")
    other.answer().get_by_text("Next in the queue").wait_for()
    chat.stop()
    other.wait_for("done")
    assert image_of(other).evaluate(PIXELS) == [1024, 1024]


def test_failed_image_has_the_reason_and_can_be_tried_again(chat: ChatPage) -> None:
    chat.choose("painter")
    chat.send("/stub error=invalid_prompt a house")
    chat.wait_for("failed")
    chat.answer().get_by_text("the stub fails as directed").wait_for()
    chat.answer().get_by_role("button", name="Try again").wait_for()
    chat.expect("Failed to load resource")


def test_documents_are_refused_before_they_are_sent(chat: ChatPage) -> None:
    chat.choose("scribe")
    attach(chat, "a.txt", "text/plain", b"one").get_by_text("This model does not accept documents").wait_for()
    send = chat.page.get_by_role("button", name="Send", exact=True)
    assert send.is_disabled()
    assert send.get_attribute("title") == "Record something, or attach a recording."
    chat.choose("painter")
    chat.page.get_by_text("This model does not accept documents").wait_for()


def test_attached_recording_is_written_down(chat: ChatPage) -> None:
    chat.choose("scribe")
    attach(chat, "a.wav", "audio/wav", b"/stub tokens_per_s=4 echo one two three").get_by_text(
        re.compile("Audio, ")
    ).wait_for()
    chat.page.get_by_role("button", name="Send", exact=True).click()
    chat.wait_for("done")
    assert chat.text() == "one two three"
    assert chat.questions.last.locator("audio, p").count() == 1
    assert chat.ask("/stub echo read", "stub") == "read"


def test_recording_is_made_and_written_down(speaking: ChatPage) -> None:
    speaking.choose("scribe")
    panel = record(speaking)
    panel.get_by_role("button", name="Stop and attach the recording").click()
    row = speaking.page.get_by_role("list", name="Attached files").get_by_role("listitem")
    row.filter(has_text="recording.webm").get_by_text(re.compile("Audio, ")).wait_for()
    assert panel.count() == 0
    speaking.page.get_by_role("button", name="Send", exact=True).click()
    speaking.wait_for("done")
    assert re.fullmatch("a recording of [0-9]+ bytes", speaking.text())
    player = speaking.questions.last.locator("audio")
    wait_in_page(speaking.page, "() => document.querySelector('audio').duration > 0.5")
    assert player.get_attribute("aria-label") == "Recording: recording.webm"


def test_recording_can_be_discarded_with_the_keyboard(speaking: ChatPage) -> None:
    speaking.choose("scribe")
    panel = record(speaking)
    speaking.page.keyboard.press("Escape")
    panel.wait_for(state="detached")
    assert speaking.page.get_by_role("list", name="Attached files").count() == 0
    wait_in_page(speaking.page, "() => document.activeElement.id === 'composer'")


def test_dictated_words_become_the_text_of_a_message(speaking: ChatPage) -> None:
    speaking.choose("stub")
    speaking.composer.fill("I said:")
    panel = record(speaking, button="Dictate the message")
    panel.get_by_role("button", name="Stop and write it down").click()
    panel.wait_for(state="detached")
    assert re.fullmatch("I said: a recording of [0-9]+ bytes", speaking.composer.input_value())


def test_dictation_that_failed_can_be_tried_again(speaking: ChatPage) -> None:
    speaking.choose("stub")
    speaking.page.route("**/v1/audio/transcriptions", lambda route: route.abort())
    panel = record(speaking, button="Dictate the message")
    panel.get_by_role("button", name="Stop and write it down").click()
    panel.get_by_role("alert").filter(has_text="The recording could not be written down: ").wait_for()
    speaking.expect("Failed to load resource")
    speaking.page.unroute("**/v1/audio/transcriptions")
    speaking.page.route("**/v1/audio/transcriptions", lambda route: route.fulfill(body='{"te'))
    panel.get_by_role("button", name="Try again").click()
    panel.get_by_text("What you said is being written down.").wait_for(state="detached")
    panel.get_by_role("alert").filter(has_text="The recording could not be written down: ").wait_for()
    speaking.page.unroute("**/v1/audio/transcriptions")
    panel.get_by_role("button", name="Try again").click()
    panel.wait_for(state="detached")
    assert re.fullmatch("a recording of [0-9]+ bytes", speaking.composer.input_value())


def test_dictation_that_is_discarded_ends_its_request(speaking: ChatPage) -> None:
    speaking.choose("stub")
    speaking.composer.fill("as it was")
    speaking.page.route("**/v1/audio/transcriptions", lambda _route: None)
    panel = record(speaking, button="Dictate the message")
    with speaking.page.expect_event("requestfailed") as request:
        panel.get_by_role("button", name="Stop and write it down").click()
        panel.get_by_text("What you said is being written down.").wait_for()
        panel.get_by_role("button", name="Discard the recording").click()
    assert request.value.url.endswith("/v1/audio/transcriptions")
    panel.wait_for(state="detached")
    assert speaking.composer.input_value() == "as it was"


def test_missing_or_refused_microphone_shows_one_sentence(browser: Browser, media_platform: Platform) -> None:
    def problem_of(chat: ChatPage) -> str:
        chat.choose("scribe")
        chat.page.get_by_role("button", name="Record with the microphone").click()
        panel = chat.page.get_by_role("group", name="Microphone")
        said: str = panel.get_by_role("alert").inner_text()
        panel.get_by_role("button", name="Close").click()
        panel.wait_for(state="detached")
        return said

    missing = browser(platform=media_platform, permissions=["microphone"]).open()
    assert problem_of(missing) == "No microphone was found. Connect one, and record again."
    refused = browser(platform=media_platform).open()
    refused.page.evaluate(REFUSE)
    assert problem_of(refused).startswith("The browser does not let this page use the microphone.")


REFUSE = """() => {
    navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', 'NotAllowedError'));
}"""
"""A headless browser without a device never asks a person."""


def test_model_that_takes_audio_gets_a_recording_as_wav(speaking: ChatPage) -> None:
    speaking.page.route(re.compile("/v1/models$"), with_audio("stub"))
    speaking.reload()
    speaking.choose("stub")
    record(speaking).get_by_role("button", name="Stop and attach the recording").click()
    row = speaking.page.get_by_role("list", name="Attached files").get_by_role("listitem")
    row.filter(has_text="recording.wav").get_by_text(re.compile("Audio, ")).wait_for()
    speaking.composer.fill("what is it?")
    with speaking.page.expect_request(lambda one: "/v1/responses?" in one.url) as request:
        speaking.send("what is it?")
    audio, text = json.loads(request.value.post_data)["input"][-1]["content"]
    assert (audio["type"], text["text"]) == ("input_audio", "what is it?")
    assert audio["input_audio"]["format"] == "wav"
    assert audio["input_audio"]["data"].startswith("UklGR")  # RIFF
    speaking.wait_for("done", "failed")
    speaking.expect("Failed to load resource")


def with_audio(model: str) -> Callable[[Any], None]:
    """Let the list of models say that a model takes audio."""

    def answer(route: Any) -> None:
        response = route.fetch()
        body = response.json()
        for one in body["data"]:
            if one["id"] == model:
                one["chat"]["input"].append("audio")
        route.fulfill(response=response, json=body)

    return answer


def test_text_is_spoken(chat: ChatPage) -> None:
    chat.choose("voice")
    chat.send("/stub tokens_per_s=1 echo one two three")
    chat.answer().get_by_text("Speaking the text").wait_for()
    chat.wait_for("done")
    with chat.page.expect_download() as download:
        chat.answer().get_by_role("button", name=re.compile("^Save ")).click()
    assert Path(download.value.path()).stat().st_size == 3 * 2 * 24_000
    assert chat.answer().locator("[data-media=speech] figure").count() == 1


def test_new_conversation_with_images_is_kept_in_the_browser(chat: ChatPage) -> None:
    chat.page.goto(f"{chat.url}/ui/settings")
    chat.page.get_by_role("radio", name="on the platform").check()
    chat.open()
    chat.choose("painter")
    chat.ask("a house")
    chat.page.get_by_text("Conversations with images and audio are kept in this browser.").wait_for()
    status, listed = chat.call("GET", "/v1/conversations?limit=1")
    assert (status, listed["data"]) == (200, [])
    chat.open()
    chat.ask("/stub echo kept there", "stub")
    chat.ask("a boat", "painter")
    chat.answer().get_by_text("It is kept in this browser only").wait_for()
    assert chat.ask("/stub echo still there", "stub") == "still there"


def test_picker_shows_what_a_model_does(chat: ChatPage) -> None:
    chat.open_picker()
    for model, words in {
        "painter": "makes images · changes images",
        "scribe": "writes down recordings",
        "voice": "speaks texts",
    }.items():
        chat.page.get_by_role("option", name=re.compile(rf"^{model}\b")).get_by_text(words).wait_for()


def test_images_and_recordings_are_accessible(chat: ChatPage, speaking: ChatPage) -> None:
    chat.choose("painter")
    chat.ask("a red lighthouse")
    chat.page.get_by_text("The answer is complete.").wait_for(state="attached")
    check_accessible(chat.page)
    image_of(chat).click()
    chat.page.get_by_role("dialog").get_by_role("img").wait_for()
    check_accessible(chat.page)
    speaking.choose("scribe")
    record(speaking).get_by_role("button", name="Stop and attach the recording").click()
    speaking.page.get_by_role("listitem").filter(has_text="recording.webm").wait_for()
    check_accessible(speaking.page)
    speaking.page.get_by_role("button", name="Send", exact=True).click()
    speaking.wait_for("done")
    record(speaking)
    check_accessible(speaking.page)
