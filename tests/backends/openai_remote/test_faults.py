"""Faults of a remote server (busy, broken, silent, gone): retries and error codes."""

from __future__ import annotations

import logging
import random
import socket
import time
from email.utils import formatdate

import pytest

from backends.base import GenerationError
from backends.openai_remote import remote_engine
from backends.shared.event_stream import LONGEST_LINE
from tests.backends.conftest import Answer, Start, ask
from tests.backends.openai_remote.calls import failure, redirect
from tests.backends.openai_remote.scripted_server import (
    KEY,
    KEY_VARIABLE,
    Handler,
    Step,
    chat,
    chunk,
    close_without_answer,
    events,
    no_answer,
    remote_model,
    scripted_server,
    status,
)
from tests.support.generations import run_generation
from tests.support.waiting import scaled

BUSY = status(503)


# ---- retries


@pytest.mark.parametrize("code", [408, 409, 429, 502, 503, 504])
def test_a_retryable_status_is_retried(start: Start, pauses: list[float], code: int) -> None:
    with scripted_server(status(code), status(code), chat("at", " last")) as server:
        assert start(remote_model(server.url)).answer(ask("Hi")).text == "at last"
    assert len(pauses) == 2
    first, *others = (request.body for request in server.posts)
    assert others == [first, first]


def test_retry_pauses_grow_with_jitter(
    start: Start, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    for share, expected in ((1.0, [0.5, 1, 2, 4, 8, 8]), (0.5, [0.25, 0.5, 1, 2, 4, 4])):
        monkeypatch.setattr(random, "uniform", lambda low, high, share=share: min(high, max(low, share)))
        with scripted_server(*[BUSY] * 6, chat("a")) as server:
            start(remote_model(server.url, retries=6)).answer(ask("Hi"))
        assert pauses == expected
        pauses.clear()


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Retry_After": "7"}, 7.0),
        ({"Retry_After": "1.5"}, 1.5),
        ({"Retry_After": "0"}, 0.0),
        ({"retry_after_ms": "250", "Retry_After": "1"}, 0.25),
        ({"Retry_After": formatdate(time.time() - 60, usegmt=True)}, 0.0),
    ],
)
def test_retry_after_sets_the_pause(
    start: Start, pauses: list[float], headers: dict[str, str], expected: float
) -> None:
    with scripted_server(status(429, **headers), chat("a")) as server:
        start(remote_model(server.url)).answer(ask("Hi"))
    assert pauses == [expected]


def test_retry_after_may_be_a_date(start: Start, pauses: list[float]) -> None:
    with scripted_server(
        status(429, Retry_After=formatdate(time.time() + 20, usegmt=True)), chat("a")
    ) as server:
        start(remote_model(server.url)).answer(ask("Hi"))
    assert 0 < pauses[0] <= 20


@pytest.mark.parametrize("after", ["tomorrow", "-1", "\xb2"])
def test_an_invalid_retry_after_is_ignored(start: Start, pauses: list[float], after: str) -> None:
    with scripted_server(status(429, Retry_After=after), chat("a")) as server:
        start(remote_model(server.url)).answer(ask("Hi"))
    assert 0.25 <= pauses[0] <= 0.5


@pytest.mark.parametrize(
    "headers", [{"Retry_After": "3600"}, {"Retry_After": "9" * 400}, {"x_should_retry": "false"}]
)
def test_a_server_that_rules_out_a_retry_is_not_retried(
    start: Start, pauses: list[float], headers: dict[str, str]
) -> None:
    with scripted_server(status(429, **headers)) as server:
        assert failure(start(remote_model(server.url))).code == "remote_rate_limited"
    assert pauses == []


@pytest.mark.parametrize(("code", "expected"), [(429, "remote_rate_limited"), (503, "remote_unavailable")])
def test_the_error_of_the_last_attempt_is_raised(
    start: Start, pauses: list[float], code: int, expected: str
) -> None:
    body = {"error": {"message": "secret words", "code": "0x"}}
    with scripted_server(*[status(code, body)] * 3) as server:
        assert failure(start(remote_model(server.url))).code == expected
    assert len(pauses) == 2
    with scripted_server(status(code)) as server:
        assert failure(start(remote_model(server.url, retries=0))).code == expected


def test_a_retry_succeeds_after_the_server_comes_back(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_server(chat("back")) as server:
        launched = start(remote_model(server.url))
        server.close()

        async def reopen(_seconds: float, _error: object) -> None:
            server.open()

        monkeypatch.setattr(remote_engine, "_pause", reopen)
        assert launched.answer(ask("Hi")).text == "back"


def test_a_closed_server_is_unavailable(start: Start, pauses: list[float]) -> None:
    with scripted_server() as server:
        launched = start(remote_model(server.url))
    assert failure(launched).code == "remote_unavailable"
    assert len(pauses) == 2


@pytest.mark.parametrize(
    "step",
    [
        close_without_answer,
        events(chunk({"role": "assistant", "content": ""}), then=Handler.cut_connection),
        events(chunk({"content": ""})),
        status(200, b""),
    ],
)
def test_a_connection_lost_before_the_first_token_is_retried(
    start: Start, pauses: list[float], step: Step
) -> None:
    with scripted_server(step, chat("again")) as server:
        assert start(remote_model(server.url)).answer(ask("Hi")).text == "again"
    assert len(pauses) == 1


# ---- errors that are not retried


@pytest.mark.parametrize("then", [Handler.cut_connection, Handler.end_stream], ids=["cut", "ended"])
def test_a_connection_lost_after_the_first_token_is_not_retried(
    start: Start, pauses: list[float], then: object
) -> None:
    with scripted_server(events(chunk({"content": "a"}), chunk({"content": "b"}), then=then)) as server:
        launched = start(remote_model(server.url))
        answer = Answer()
        with pytest.raises(GenerationError, match="broke off in the middle of its answer") as caught:
            run_generation(launched.engine, "only", ask("Hi"), answer.emit)
    assert caught.value.code == "engine_error"
    assert answer.text == "ab"
    assert pauses == []


@pytest.mark.parametrize(
    ("code", "body", "expected"),
    [
        (400, {"error": {"code": "context_length_exceeded", "message": "secret"}}, "context_length_exceeded"),
        (400, {"message": "This model's maximum context length is 9 tokens"}, "context_length_exceeded"),
        (400, {"error": {"type": "exceed_context_size_error"}}, "context_length_exceeded"),
        (400, {"error": {"code": "unsupported_value", "message": "secret"}}, "invalid_prompt"),
        (400, {"error": "secret"}, "invalid_prompt"),
        (413, b"<html>secret</html>", "invalid_prompt"),
        (422, {"detail": [{"msg": "secret"}]}, "invalid_prompt"),
        (401, {"error": {"message": f"wrong key {KEY}"}}, "engine_error"),
        (403, {}, "engine_error"),
        (404, {"error": {"message": "no such model"}}, "engine_error"),
        (301, b"", "engine_error"),
        (500, {"error": {"message": "0xdeadbeef"}}, "engine_error"),
        (200, {"choices": [{"message": {"content": "secret"}}]}, "engine_error"),
    ],
)
def test_an_error_response_has_a_stoker_code_and_none_of_the_servers_words(
    start: Start, pauses: list[float], code: int, body: object, expected: str
) -> None:
    with scripted_server(status(code, body)) as server:
        assert failure(start(remote_model(server.url))).code == expected
    assert pauses == []


def test_the_prompt_size_is_in_the_error_if_the_server_reports_it(start: Start) -> None:
    body = {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 4}}
    with scripted_server(status(400, body)) as server:
        assert str(failure(start(remote_model(server.url)))) == "the prompt has 9 tokens; 4 fit"


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (
            status(401, {"error": {"message": f"wrong key {KEY}"}}),
            "refuses the key in REMOTE_KEY: put a valid one",
        ),
        (status(404, {"error": {"message": "unknown"}}), "correct openai_remote_model or openai_remote_url"),
        (
            status(400, {"error": {"message": f"what is\n{KEY}?", "param": "max_tokens"}}),
            "max_tokens what is ***?",
        ),
        (
            status(400, {"error": {"message": f"\x1b[2J{KEY[:3]}\x1b{KEY[3:]}"}}),
            f"answered 400: [2J{KEY[:3]} {KEY[3:]}",
        ),
        (events({"error": {"message": f"{KEY} is tired"}}), "failed while it answered: *** is tired"),
    ],
)
def test_the_log_has_a_remedy_and_never_the_key(
    start: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, step: Step, expected: str
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with scripted_server(step) as server, caplog.at_level(logging.DEBUG):
        failure(start(remote_model(server.url, key_variable=KEY_VARIABLE)))
    assert expected in caplog.text
    assert KEY not in caplog.text


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": "context_length_exceeded", "message": "secret"}, "context_length_exceeded"),
        ({"code": "rate_limit_exceeded"}, "remote_rate_limited"),
        ({"code": 500, "message": "secret"}, "engine_error"),
        ({"code": 400, "message": "secret"}, "invalid_prompt"),
        ({"code": 400, "type": "exceed_context_size_error"}, "context_length_exceeded"),
        ({"code": 429, "message": "Rate limit exceeded"}, "remote_rate_limited"),
        ({"code": 502, "message": "secret"}, "remote_unavailable"),
        ({"code": [502]}, "engine_error"),
        ("secret", "engine_error"),
    ],
)
def test_an_error_event_has_one_of_stokers_error_codes(start: Start, error: object, code: str) -> None:
    with scripted_server(events({"error": error})) as server:
        assert failure(start(remote_model(server.url))).code == code


@pytest.mark.parametrize(
    "event",
    [b"\xff\xfe", b"[]", b'"a"', {"choices": [{"delta": {"content": ["a"]}}]}, {"choices": 1}, {"a": 1}],
)
def test_a_malformed_event_fails_only_its_request(start: Start, event: object) -> None:
    with scripted_server(events(event), chat("fine")) as server:
        launched = start(remote_model(server.url))
        assert failure(launched).code == "engine_error"
        assert launched.answer(ask("Hi")).text == "fine"


def test_a_line_over_the_limit_is_not_buffered(start: Start) -> None:
    def endless(handler: Handler) -> None:
        handler.begin_stream()
        handler.send(b"data: ")
        for _ in range(LONGEST_LINE // (1 << 20) + 1):
            handler.send(b" " * (1 << 20))
        handler.wait_for_disconnect()  # reached only if the whole line is buffered

    with scripted_server(endless) as server:
        assert failure(start(remote_model(server.url))).code == "engine_error"


@pytest.mark.usefixtures("pauses")
def test_a_server_that_is_not_http_is_unavailable(start: Start) -> None:
    def nonsense(handler: Handler) -> None:
        handler.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
        handler.cut_connection()

    with scripted_server(*[nonsense] * 3) as server:
        assert failure(start(remote_model(server.url))).code == "remote_unavailable"


@pytest.mark.parametrize(
    "step", [no_answer, events(chunk({"content": "a"}), then=Handler.wait_for_disconnect)]
)
def test_a_read_timeout_closes_the_connection_without_a_retry(
    start: Start, pauses: list[float], step: Step
) -> None:
    with scripted_server(step) as server:
        launched = start(remote_model(server.url, read_timeout_s=scaled(0.5)))
        assert failure(launched).code == "engine_stalled"
        assert server.client_disconnected.wait(scaled(5))
    assert pauses == []


def test_a_connect_timeout_is_retried(start: Start, pauses: list[float]) -> None:
    """The listener never answers, so the TLS handshake waits."""
    with socket.create_server(("127.0.0.1", 0)) as unresponsive, scripted_server() as server:
        launched = start(remote_model(server.url, connect_timeout_s=scaled(0.3)))
        redirect(launched, unresponsive.getsockname()[1])
        assert failure(launched).code == "remote_unavailable"
    assert len(pauses) == 2


def test_an_error_in_emit_affects_only_its_own_request(start: Start) -> None:
    def fail(_delta: object) -> None:
        raise ZeroDivisionError

    with scripted_server(chat("a"), chat("b")) as server:
        launched = start(remote_model(server.url))
        with pytest.raises(GenerationError):
            run_generation(launched.engine, "failing", ask("Hi"), fail)
        assert launched.answer(ask("Hi")).text == "b"
