"""Attachments of a conversation that a request cannot have: the model takes none, or there are too many."""

from __future__ import annotations

import base64
import secrets
from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient

from api.inference.conversations.fitting import fitted
from config.settings import ModelDefinition, Settings
from generation.generation import ImagePart, text_content
from tests.api.inference.conversations.test_conversations import ask, error_of, items_of, messages_of, new
from tests.support.api_fakes import Fakes
from tests.support.pictures import DOT, data_url, png
from tests.support.recordings import audio_part, wav, wav_of

IMAGE = {"type": "input_image", "image_url": DOT}
AUDIO = audio_part(wav())
MIB = 1024 * 1024


@pytest.fixture
def settings(settings: Settings) -> Settings:
    seeing = ModelDefinition("seeing", "stub", options={"stub_image_input": True})
    listener = ModelDefinition("listener", "stub", options={"stub_audio_input": True})
    return replace(settings, models={**settings.models, "seeing": seeing, "listener": listener})


def question(*parts: dict[str, Any]) -> dict[str, Any]:
    content = [*parts, {"type": "input_text", "text": "What is it?"}]
    return {"id": f"msg_{secrets.token_hex(16)}", "role": "user", "content": content}


def file(name: str) -> dict[str, Any]:
    data = base64.b64encode(name.encode()).decode()
    return {"type": "input_file", "filename": name, "file_data": f"data:text/plain;base64,{data}"}


def place(id: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    return {"id": id, "parent": parent, **fields}


def test_text_model_gets_a_line_in_the_place_of_each_image_when_the_request_wants_what_fits(
    http: FlaskClient, fakes: Fakes
) -> None:
    id, asked = new(http), question(IMAGE)
    seen = ask(http, place(id, None), [asked], model="seeing")
    parent = seen["output"][-1]["id"]
    more = [{"role": "user", "content": "And?"}]
    refused = error_of(http, input=more, conversation=place(id, parent))
    assert refused[:2] == (400, "image_unsupported")
    answer = ask(http, place(id, parent, attachments="auto"), more)
    first = messages_of(fakes, answer)[0]
    assert [part.text for part in first.content if not isinstance(part, ImagePart)] == [
        "[image: not included]",
        "What is it?",
    ]
    assert len(first.content) == 2
    assert answer["conversation"] == place(id, parent)
    assert items_of(http, id)[0]["content"][0]["image_url"] == DOT, "the conversation keeps it"
    seen = ask(http, place(id, parent, attachments="auto"), more, model="seeing")
    assert isinstance(messages_of(fakes, seen)[0].content[0], ImagePart)


def test_images_of_the_input_are_left_out_and_kept_by_the_conversation(
    http: FlaskClient, fakes: Fakes
) -> None:
    id, asked = new(http), question(IMAGE)
    answer = ask(http, place(id, None, attachments="auto"), [asked])
    assert messages_of(fakes, answer)[0].content == text_content("[image: not included]") + text_content(
        "What is it?"
    )
    assert items_of(http, id)[0]["content"][0]["image_url"] == DOT
    assert ask(http, place(id, None, attachments="auto"), [asked])["status"] == "completed"


def test_recordings_are_left_out_when_the_model_takes_none(http: FlaskClient, fakes: Fakes) -> None:
    id, asked = new(http), question(AUDIO)
    first_answer = ask(http, place(id, None), [asked], model="listener")
    more = [{"role": "user", "content": "And?"}]
    parent = first_answer["output"][-1]["id"]
    refused = error_of(http, input=more, conversation=place(id, parent))
    assert refused[:2] == (400, "audio_unsupported")
    answer = ask(http, place(id, parent, attachments="auto"), more)
    assert messages_of(fakes, answer)[0].text.startswith("[recording: not included]")
    assert items_of(http, id)[0]["content"][0] == AUDIO, "the conversation keeps it"
    again = ask(http, place(id, parent, attachments="auto"), more, model="listener")
    assert messages_of(fakes, again)[0].recordings == messages_of(fakes, first_answer)[0].recordings
    assert len(messages_of(fakes, again)[0].recordings) == 1


def test_tokens_are_counted_without_what_is_left_out(http: FlaskClient) -> None:
    id = new(http, items=[{"role": "user", "content": [IMAGE]}])
    for conversation, status in ((place(id, None), 200), ({"id": id, "attachments": "auto"}, 200), (id, 400)):
        body = {"model": "demo", "input": "Hi", "conversation": conversation}
        assert http.post("/v1/responses/input_tokens", json=body).status_code == status


def parts_of(items: list[dict[str, Any]]) -> list[str]:
    return [
        part.get("text") or part["type"] for item in items for part in item["content"] if "detail" not in part
    ]


def test_as_many_of_the_latest_attachments_stay_as_a_request_may_have() -> None:
    items = [question(IMAGE, file(f"{at}.txt")) for at in range(40)]
    found = parts_of(fitted(items, takes=("text", "image"), max_bytes=8 * MIB))
    assert found.count("input_image") == 32
    assert found.count("input_file") == 16
    assert found[:2] == ["[image: not included]", "[0.txt: not included]"]
    assert found[-3:] == ["input_image", "input_file", "What is it?"]
    assert items[0]["content"][0] is IMAGE, "the items themselves stay as they are"


def test_images_beyond_the_pixels_and_the_bytes_of_a_request_are_left_out() -> None:
    large = {"type": "input_image", "image_url": data_url(png(5000, 5000))}
    found = parts_of(fitted([question(large)] * 4, takes=("text", "image"), max_bytes=8 * MIB))
    assert found.count("input_image") == 2, "64 million pixels"
    found = parts_of(fitted([question(IMAGE)] * 4, takes=("text", "image"), max_bytes=3 * len(DOT)))
    assert found.count("input_image") == 2


def test_recordings_beyond_the_seconds_and_the_bytes_of_a_request_are_left_out() -> None:
    content = wav_of(bytes(8000 * 700), rate=4000, byte_rate=8000)
    items = [question(audio_part(content))] * 4
    found = parts_of(fitted(items, takes=("text", "audio"), max_bytes=80 * MIB))
    assert found.count("input_audio") == 2, "1,800 seconds"
    size = len(AUDIO["input_audio"]["data"])
    found = parts_of(fitted([question(AUDIO)] * 4, takes=("text", "audio"), max_bytes=3 * size))
    assert found.count("input_audio") == 2


def test_results_of_calls_have_lines_in_the_place_of_their_images() -> None:
    output = {"type": "function_call_output", "call_id": "a", "output": [IMAGE]}
    (item,) = fitted([output], takes=("text",), max_bytes=MIB)
    assert item["output"] == [{"type": "input_text", "text": "[image: not included]"}]
    plain = {"type": "function_call_output", "call_id": "a", "output": "text"}
    assert fitted([plain], takes=("text",), max_bytes=MIB) == [plain]
