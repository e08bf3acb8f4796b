"""Which prompts the history of requests keeps, and what of them."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import orjson
import pytest
from flask.testing import FlaskClient

from api.access.caller import Caller
from api.access.identities import WITHOUT_KEY
from api.inference.dialects.attachments import PendingDocument
from api.inference.dialects.base import ParsedRequest
from api.inference.prompt_text import MAX_BYTES, keeps_texts, prompt_text
from config.settings import Settings
from generation.generation import AudioPart, ContentPart, Generation, ImagePart, Message, TextPart
from tests.api.conftest import KEY, OTHER_KEY
from tests.support.api_fakes import Fakes


@pytest.fixture
def settings(settings: Settings) -> Settings:
    tenants = {**settings.tenants, "one": replace(settings.tenants["one"], keep_texts=True)}
    return replace(settings, tenants=tenants)


def parsed(*messages: Message, prompt: str | None = None, **more: Any) -> ParsedRequest:
    return ParsedRequest(Generation("demo", messages, prompt=prompt), **more)


def user(*content: ContentPart) -> Message:
    return Message("user", content)


def kept(request: ParsedRequest) -> tuple[str, bool]:
    value = orjson.loads(prompt_text(request))
    return value["text"], value["is_cut"]


def test_messages_are_kept_with_their_roles_in_their_order() -> None:
    request = parsed(Message("system", (TextPart("Be brief."),)), user(TextPart("Hi"), TextPart("there")))
    assert kept(request) == ("system: Be brief.\nuser: Hi\nthere", False)
    assert kept(parsed(prompt="Once upon")) == ("Once upon", False)


def test_images_recordings_and_documents_are_replaced_by_type_and_size() -> None:
    data = base64.b64encode(b"secret" * 100).decode()
    pdf, stored = TextPart("a.pdf"), TextPart("b.pdf")
    documents = (PendingDocument("x", pdf, b"secret" * 10), PendingDocument("y", stored, file_id="file-1"))
    image = ImagePart(f"data:image/png;base64,{data}")
    text, is_cut = kept(parsed(user(image, AudioPart(data, "wav"), pdf, stored), documents=documents))
    assert text.splitlines() == [
        "user: [image/png: 600 bytes]",
        "[audio/wav: 600 bytes]",
        "[document: a.pdf, 60 bytes]",
        "[stored file: b.pdf]",
    ]
    assert not is_cut


@pytest.mark.parametrize("piece", ["abc ", "ä€😀"])
def test_of_a_long_prompt_the_end_is_kept(piece: str) -> None:
    long = piece * 10_000
    for request in (parsed(prompt=long), parsed(user(TextPart("gone")), user(TextPart(long)))):
        text, is_cut = kept(request)
        assert is_cut
        assert MAX_BYTES - 20 < len(text.encode()) <= MAX_BYTES
        assert long.endswith(text.removeprefix("user: "))
    text, is_cut = kept(parsed(*[user(TextPart("x" * 90))] * 1_000))
    assert (is_cut, len(text) <= MAX_BYTES + 100) == (True, True)


def test_a_lone_surrogate_is_replaced() -> None:
    assert kept(parsed(prompt="a\ud800b")) == ("a?b", False)


MESSAGES = {"messages": [{"role": "user", "content": "Hello"}]}


@pytest.mark.parametrize(
    ("key", "path", "body", "text"),
    [
        (KEY, "/v1/responses", {"input": "Hello"}, "user: Hello"),
        (KEY, "/v1/responses", {"input": "Hello", "store": False}, None),
        (KEY, "/v1/chat/completions", MESSAGES, "user: Hello"),
        (KEY, "/v1/chat/completions", {**MESSAGES, "store": False}, None),
        (KEY, "/v1/messages/count_tokens", MESSAGES, None),
        (OTHER_KEY, "/v1/responses", {"input": "Hello"}, None),
    ],
)
def test_the_tenant_and_the_request_decide_whether_its_prompt_is_kept(
    http: FlaskClient, fakes: Fakes, *, key: str, path: str, body: dict[str, Any], text: str | None
) -> None:
    http.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {key}"
    http.post(path, json={"model": "demo", **body})
    prompt = fakes.ledger.only().prompt_text
    assert (orjson.loads(prompt)["text"] if prompt else None) == text


def test_a_request_in_a_conversation_or_a_batch_keeps_no_texts(settings: Settings) -> None:
    tenant = settings.tenants["one"]
    caller = Caller(tenant, "normal", WITHOUT_KEY)
    assert keeps_texts(caller, parsed(), stores=True, in_batch=False)
    assert not keeps_texts(caller, parsed(), stores=True, in_batch=True)
    assert not keeps_texts(caller, parsed(conversation_id="conv_1"), stores=True, in_batch=False)
