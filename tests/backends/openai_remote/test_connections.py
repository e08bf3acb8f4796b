"""The end of a remote server's answer, and which connections serve another request."""

from __future__ import annotations

import pytest

from backends.openai_remote import remote_engine
from streams.events import Usage
from tests.backends.conftest import Start, ask
from tests.backends.openai_remote.calls import failure
from tests.backends.openai_remote.scripted_server import (
    Handler,
    chat,
    chunk,
    close_without_answer,
    events,
    remote_model,
    scripted_server,
    status,
)
from tests.support.waiting import scaled

# ---- the end of an answer


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "content_filter"), ("eos", "stop")],
)
def test_a_finish_reason_is_one_of_stokers(start: Start, finish: str, reason: str) -> None:
    with scripted_server(chat("a", finish=finish)) as server:
        answer = start(remote_model(server.url)).answer(ask("Hi"))
    assert answer.finish is not None
    assert answer.finish.reason == reason


def test_an_answer_ends_when_its_finish_reason_is_followed_by_silence(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_engine, "USAGE_S", 0.1)
    with scripted_server(
        events(chunk({"content": "a"}, "length"), then=Handler.wait_for_disconnect)
    ) as server:
        answer = start(remote_model(server.url)).answer(ask("Hi"))
        assert server.client_disconnected.wait(scaled(5))
    assert answer.text == "a"
    assert answer.finish is not None
    assert answer.finish.reason == "length"


def test_an_uncounted_prompt_is_estimated(start: Start) -> None:
    with scripted_server(events(chunk({"content": "a"}, "stop"), b"[DONE]")) as server:
        answer = start(remote_model(server.url)).answer(ask("word " * 100))
    assert answer.finish is not None
    assert answer.finish.usage == Usage(126, 1, 0, 0)


def test_invalid_usage_is_ignored(start: Start) -> None:
    usage = {
        "prompt_tokens": "many",
        "completion_tokens": -3,
        "prompt_tokens_details": {"cached_tokens": 1.5},
    }
    with scripted_server(chat("a", "b", usage=usage)) as server:
        answer = start(remote_model(server.url)).answer(ask("Hi"))
    assert answer.finish is not None
    assert answer.finish.usage == Usage(1, 2, 0, 0)  # of the prompt, a guess


@pytest.mark.parametrize(
    "sent",
    [
        [chunk({"content": "a"}), b"[DONE]"],
        [chunk({"content": "a"}, "stop")],
        [chunk({"content": "a"}, "stop"), {"choices": [], "usage": {"prompt_tokens": 3}}, b"[DONE]"],
    ],
)
def test_the_end_of_a_stream_has_several_forms(start: Start, sent: list[object]) -> None:
    with scripted_server(events(*sent)) as server:
        answer = start(remote_model(server.url)).answer(ask("Hi"))
    assert answer.finish is not None
    assert (answer.text, answer.finish.reason) == ("a", "stop")


def test_a_body_without_end_after_its_last_event_does_not_block(start: Start) -> None:
    last = (chunk({"content": "a"}, "stop"), b"[DONE]")
    with scripted_server(events(*last, then=Handler.wait_for_disconnect), chat("b")) as server:
        launched = start(remote_model(server.url))
        answer, thread = launched.begin(ask("Hi"))
        thread.join(scaled(5))
        assert answer.text == "a"
        assert server.client_disconnected.wait(scaled(5))
        assert launched.answer(ask("Hi")).text == "b"


# ---- connections


def test_a_connection_is_reused_after_a_complete_answer(start: Start) -> None:
    with scripted_server(chat("a"), chat("b"), status(400), chat("c")) as server:
        launched = start(remote_model(server.url))
        assert [launched.answer(ask("Hi")).text for _ in range(2)] == ["a", "b"]
        failure(launched)
        launched.answer(ask("Hi"))
    numbers = [request.connection for request in server.posts]
    assert len(set(numbers)) == 1


def test_an_idle_connection_closed_by_the_server_is_not_reused(start: Start, pauses: list[float]) -> None:
    def answer_and_close(handler: Handler) -> None:
        chat("a")(handler)
        handler.cut_connection()
        handler.server.script.client_disconnected.set()

    with scripted_server(answer_and_close, chat("b")) as server:
        launched = start(remote_model(server.url))
        launched.answer(ask("Hi"))
        assert server.client_disconnected.wait(scaled(5))
        assert launched.answer(ask("Hi")).text == "b"
    assert pauses == [], "no request failed"


def test_a_stale_connection_is_replaced_at_once(start: Start, pauses: list[float]) -> None:
    with scripted_server(chat("a"), close_without_answer, chat("b")) as server:
        launched = start(remote_model(server.url, retries=0))
        launched.answer(ask("Hi"))
        assert launched.answer(ask("Hi")).text == "b"
    assert pauses == []


def test_a_connection_idle_for_too_long_is_not_reused(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("http_client.client.IDLE_S", 0.0)
    with scripted_server(chat("a"), chat("b")) as server:
        launched = start(remote_model(server.url))
        for _ in range(2):
            launched.answer(ask("Hi"))
    first, second = (request.connection for request in server.posts)
    assert first != second
