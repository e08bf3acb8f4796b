"""A remote server that is busy, broken, silent or gone: who is asked again, and what the client hears."""

from __future__ import annotations

import logging
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate

import pytest

from backends.base import GenerationError
from backends.openai_remote import remote_engine
from backends.shared.chat_stream import LONGEST_LINE
from backends.shared.http_client import CallCancelled, HttpCall
from streams.events import Usage
from tests.backends.conftest import Answer, Launched, Start, ask
from tests.backends.openai_remote.scripted import (
    KEY,
    Handler,
    Step,
    chat,
    chunk,
    events,
    far,
    hang_up,
    scripted,
    silence,
    status,
)

SOON_S = 1.0
BUSY = status(503)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long it would have waited before each repeat; it does not."""
    waited: list[float] = []
    monkeypatch.setattr(HttpCall, "wait", lambda _call, seconds: waited.append(seconds))
    return waited


def failure(launched: Launched) -> GenerationError:
    with pytest.raises(GenerationError) as caught:
        launched.answer(ask("Hi"))
    assert not any(word in str(caught.value) for word in (KEY, "secret", "0x"))
    return caught.value


# ---- asking again


@pytest.mark.parametrize("code", [408, 409, 429, 502, 503, 504])
def test_what_may_pass_is_asked_again(start: Start, pauses: list[float], code: int) -> None:
    with scripted(status(code), status(code), chat("at", " last")) as server:
        assert start(far(server.url)).answer(ask("Hi")).text == "at last"
    assert len(pauses) == 2
    first, *others = (asked.body for asked in server.posts)
    assert others == [first, first]


def test_pauses_grow_and_are_not_the_same_for_all(
    start: Start, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    for share, expected in ((1.0, [0.5, 1, 2, 4, 8, 8]), (0.5, [0.25, 0.5, 1, 2, 4, 4])):
        monkeypatch.setattr(random, "uniform", lambda low, high, share=share: min(high, max(low, share)))
        with scripted(*[BUSY] * 6, chat("a")) as server:
            start(far(server.url, retries=6)).answer(ask("Hi"))
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
def test_the_server_says_how_long_to_wait(
    start: Start, pauses: list[float], headers: dict[str, str], expected: float
) -> None:
    with scripted(status(429, **headers), chat("a")) as server:
        start(far(server.url)).answer(ask("Hi"))
    assert pauses == [expected]


def test_a_date_to_wait_for_is_understood(start: Start, pauses: list[float]) -> None:
    with scripted(status(429, Retry_After=formatdate(time.time() + 20, usegmt=True)), chat("a")) as server:
        start(far(server.url)).answer(ask("Hi"))
    assert 0 < pauses[0] <= 20


@pytest.mark.parametrize("after", ["tomorrow", "-1", "\xb2"])
def test_a_wish_that_is_none_is_passed_over(start: Start, pauses: list[float], after: str) -> None:
    with scripted(status(429, Retry_After=after), chat("a")) as server:
        start(far(server.url)).answer(ask("Hi"))
    assert 0.25 <= pauses[0] <= 0.5


@pytest.mark.parametrize(
    "headers", [{"Retry_After": "3600"}, {"Retry_After": "9" * 400}, {"x_should_retry": "false"}]
)
def test_who_will_not_be_asked_again_is_not(
    start: Start, pauses: list[float], headers: dict[str, str]
) -> None:
    with scripted(status(429, **headers)) as server:
        assert failure(start(far(server.url))).code == "remote_rate_limited"
    assert pauses == []


@pytest.mark.parametrize(("code", "said"), [(429, "remote_rate_limited"), (503, "remote_unavailable")])
def test_after_the_last_try_the_client_hears_what_it_was(
    start: Start, pauses: list[float], code: int, said: str
) -> None:
    body = {"error": {"message": "secret words", "code": "0x"}}
    with scripted(*[status(code, body)] * 3) as server:
        assert failure(start(far(server.url))).code == said
    assert len(pauses) == 2
    with scripted(status(code)) as server:
        assert failure(start(far(server.url, retries=0))).code == said


def test_a_server_that_comes_back_is_asked_again(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(chat("back")) as server:
        launched = start(far(server.url))
        server.close()
        monkeypatch.setattr(HttpCall, "wait", lambda _call, _seconds: server.open())
        assert launched.answer(ask("Hi")).text == "back"


def test_a_server_that_is_gone_is_unavailable(start: Start, pauses: list[float]) -> None:
    with scripted() as server:
        launched = start(far(server.url))
    assert failure(launched).code == "remote_unavailable"
    assert len(pauses) == 2


@pytest.mark.parametrize(
    "step",
    [
        hang_up,
        events(chunk({"role": "assistant", "content": ""}), then=Handler.break_off),
        events(chunk({"content": ""})),
        status(200, b""),
    ],
)
def test_who_breaks_off_before_the_first_token_is_asked_again(
    start: Start, pauses: list[float], step: Step
) -> None:
    with scripted(step, chat("again")) as server:
        assert start(far(server.url)).answer(ask("Hi")).text == "again"
    assert len(pauses) == 1


# ---- not asking again


@pytest.mark.parametrize("then", [Handler.break_off, Handler.end_stream], ids=["cut", "ended"])
def test_who_breaks_off_after_the_first_token_is_not_asked_again(
    start: Start, pauses: list[float], then: object
) -> None:
    with scripted(events(chunk({"content": "a"}), chunk({"content": "b"}), then=then)) as server:
        launched = start(far(server.url))
        answer = Answer()
        with pytest.raises(GenerationError, match="broke off in the middle of its answer") as caught:
            launched.engine.generate("only", ask("Hi"), answer.emit)
    assert caught.value.code == "engine_error"
    assert answer.text == "ab"
    assert pauses == []


@pytest.mark.parametrize(
    ("code", "body", "said"),
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
def test_an_answer_has_a_code_of_ours_and_none_of_the_servers_words(
    start: Start, pauses: list[float], code: int, body: object, said: str
) -> None:
    with scripted(status(code, body)) as server:
        assert failure(start(far(server.url))).code == said
    assert pauses == []


def test_the_size_of_a_prompt_is_told_where_the_server_tells_it(start: Start) -> None:
    body = {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 4}}
    with scripted(status(400, body)) as server:
        assert str(failure(start(far(server.url)))) == "the prompt has 9 tokens; 4 fit"


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (
            status(401, {"error": {"message": f"wrong key {KEY}"}}),
            "refuses the key in FAR_KEY: put a valid one",
        ),
        (status(404, {"error": {"message": "nobody"}}), "correct openai_remote_model or openai_remote_url"),
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
def test_the_log_says_what_to_do_and_never_the_key(
    start: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, step: Step, said: str
) -> None:
    monkeypatch.setenv("FAR_KEY", KEY)
    with scripted(step) as server, caplog.at_level(logging.DEBUG):
        failure(start(far(server.url, key_variable="FAR_KEY")))
    assert said in caplog.text
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
def test_an_error_in_a_stream_has_a_code_of_ours(start: Start, error: object, code: str) -> None:
    with scripted(events({"error": error})) as server:
        assert failure(start(far(server.url))).code == code


@pytest.mark.parametrize(
    "told",
    [b"\xff\xfe", b"[]", b'"a"', {"choices": [{"delta": {"content": ["a"]}}]}, {"choices": 1}, {"a": 1}],
)
def test_garbage_fails_the_request_and_nothing_else(start: Start, told: object) -> None:
    with scripted(events(told), chat("fine")) as server:
        launched = start(far(server.url))
        assert failure(launched).code == "engine_error"
        assert launched.answer(ask("Hi")).text == "fine"


def test_a_line_without_end_is_not_gathered(start: Start) -> None:
    def endless(handler: Handler) -> None:
        handler.begin_stream()
        handler.send(b"data: ")
        for _ in range(LONGEST_LINE // (1 << 20) + 1):
            handler.send(b" " * (1 << 20))
        handler.wait_until_left()  # it comes to this if somebody gathers it all

    with scripted(endless) as server:
        assert failure(start(far(server.url))).code == "engine_error"


@pytest.mark.usefixtures("pauses")
def test_what_is_no_http_is_not_understood(start: Start) -> None:
    def nonsense(handler: Handler) -> None:
        handler.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
        handler.break_off()

    with scripted(*[nonsense] * 3) as server:
        assert failure(start(far(server.url))).code == "remote_unavailable"


@pytest.mark.parametrize("step", [silence, events(chunk({"content": "a"}), then=Handler.wait_until_left)])
def test_a_server_that_is_silent_too_long_is_left_and_not_asked_again(
    start: Start, pauses: list[float], step: Step
) -> None:
    with scripted(step) as server:
        launched = start(far(server.url, read_timeout_s=0.2))
        assert failure(launched).code == "engine_stalled"
        assert server.left.wait(5)
    assert pauses == []


def test_a_connection_that_does_not_come_about_in_time_is_tried_again(
    start: Start, pauses: list[float]
) -> None:
    """A listener that greets nobody: TLS waits for ever."""
    with socket.create_server(("127.0.0.1", 0)) as mute, scripted() as server:
        launched = start(far(server.url, connect_timeout_s=0.1))
        _lead(launched, mute.getsockname()[1])
        assert failure(launched).code == "remote_unavailable"
    assert len(pauses) == 2


def _lead(launched: Launched, port: int) -> None:
    """From now on the engine's server is another one, in TLS."""
    from dataclasses import replace

    from backends.openai_remote.client import http_client

    options = replace(launched.engine._options, scheme="https", port=port)
    launched.engine._client = http_client(options)


def test_who_cannot_take_his_tokens_harms_no_one_else(start: Start) -> None:
    def refuse(_delta: object) -> None:
        raise ZeroDivisionError

    with scripted(chat("a"), chat("b")) as server:
        launched = start(far(server.url))
        with pytest.raises(ZeroDivisionError):
            launched.engine.generate("refusing", ask("Hi"), refuse)
        assert launched.answer(ask("Hi")).text == "b"


# ---- how it ends


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "content_filter"), ("eos", "stop")],
)
def test_an_end_has_one_of_our_reasons(start: Start, finish: str, reason: str) -> None:
    with scripted(chat("a", finish=finish)) as server:
        answer = start(far(server.url)).answer(ask("Hi"))
    assert answer.finish is not None
    assert answer.finish.reason == reason


def test_an_answer_has_ended_when_its_server_has_told_why_and_falls_silent(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_engine, "USAGE_S", 0.1)
    with scripted(events(chunk({"content": "a"}, "length"), then=Handler.wait_until_left)) as server:
        answer = start(far(server.url)).answer(ask("Hi"))
        assert server.left.wait(5)
    assert answer.text == "a"
    assert answer.finish is not None
    assert answer.finish.reason == "length"


def test_a_prompt_that_the_server_does_not_count_is_guessed(start: Start) -> None:
    with scripted(events(chunk({"content": "a"}, "stop"), b"[DONE]")) as server:
        answer = start(far(server.url)).answer(ask("word " * 100))
    assert answer.finish is not None
    assert answer.finish.usage == Usage(126, 1, 0, 0)


def test_usage_that_is_none_is_not_believed(start: Start) -> None:
    usage = {
        "prompt_tokens": "many",
        "completion_tokens": -3,
        "prompt_tokens_details": {"cached_tokens": 1.5},
    }
    with scripted(chat("a", "b", usage=usage)) as server:
        answer = start(far(server.url)).answer(ask("Hi"))
    assert answer.finish is not None
    assert answer.finish.usage == Usage(1, 2, 0, 0)  # of the prompt, a guess


@pytest.mark.parametrize(
    "told",
    [
        [chunk({"content": "a"}), b"[DONE]"],
        [chunk({"content": "a"}, "stop")],
        [chunk({"content": "a"}, "stop"), {"choices": [], "usage": {"prompt_tokens": 3}}, b"[DONE]"],
    ],
)
def test_an_end_may_be_told_in_more_ways_than_one(start: Start, told: list[object]) -> None:
    with scripted(events(*told)) as server:
        answer = start(far(server.url)).answer(ask("Hi"))
    assert answer.finish is not None
    assert (answer.text, answer.finish.reason) == ("a", "stop")


def test_a_body_that_does_not_end_after_its_last_event_keeps_nobody(start: Start) -> None:
    last = (chunk({"content": "a"}, "stop"), b"[DONE]")
    with scripted(events(*last, then=Handler.wait_until_left), chat("b")) as server:
        launched = start(far(server.url))
        answer, thread = launched.begin(ask("Hi"))
        thread.join(5)
        assert answer.text == "a"
        assert server.left.wait(5)
        assert launched.answer(ask("Hi")).text == "b"


# ---- connections


def test_a_connection_is_kept_for_the_next_request(start: Start) -> None:
    with scripted(chat("a"), chat("b"), status(400), chat("c")) as server:
        launched = start(far(server.url))
        assert [launched.answer(ask("Hi")).text for _ in range(2)] == ["a", "b"]
        failure(launched)
        launched.answer(ask("Hi"))
    numbers = [asked.connection for asked in server.posts]
    assert numbers[0] == numbers[1] == numbers[2] != numbers[3]


def test_a_connection_that_the_server_closed_meanwhile_is_not_used(start: Start, pauses: list[float]) -> None:
    def last(handler: Handler) -> None:
        chat("a")(handler)
        handler.break_off()
        handler.server.script.left.set()

    with scripted(last, chat("b")) as server:
        launched = start(far(server.url))
        launched.answer(ask("Hi"))
        assert server.left.wait(5)
        assert launched.answer(ask("Hi")).text == "b"
    assert pauses == [], "nothing was asked in vain"


def test_a_connection_that_dies_under_a_request_is_replaced_at_once(
    start: Start, pauses: list[float]
) -> None:
    with scripted(chat("a"), hang_up, chat("b")) as server:
        launched = start(far(server.url, retries=0))
        launched.answer(ask("Hi"))
        assert launched.answer(ask("Hi")).text == "b"
    assert pauses == []


def test_a_connection_that_was_kept_for_long_is_not_used(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backends.shared.http_client.IDLE_S", 0.0)
    with scripted(chat("a"), chat("b")) as server:
        launched = start(far(server.url))
        for _ in range(2):
            launched.answer(ask("Hi"))
    first, second = (asked.connection for asked in server.posts)
    assert first != second


# ---- cancelling


@pytest.fixture
def mute() -> Iterator[int]:
    """The port of a listener that greets nobody."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


def cancelled(launched: Launched, ready: threading.Event) -> Answer:
    """Cancel a request once it is there; it has to end soon."""
    answer, thread = launched.begin(ask("one two three four five six seven eight"))
    assert ready.wait(5)
    launched.engine.cancel("only")
    thread.join(SOON_S)
    assert answer.error is None
    assert answer.finish is not None
    assert answer.finish.reason == "cancelled"
    assert answer.finish.usage.input_tokens > 0
    return answer


def test_a_request_can_be_cancelled_while_it_connects(
    start: Start, mute: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    connecting = threading.Event()
    connect = HttpCall.connect

    def report(call: HttpCall, *arguments: Callable[[], None]) -> None:
        connecting.set()
        connect(call, *arguments)

    with scripted() as server:
        launched = start(far(server.url))
        _lead(launched, mute)
        monkeypatch.setattr(HttpCall, "connect", report)
        cancelled(launched, connecting)


def test_a_request_can_be_cancelled_in_a_pause(start: Start) -> None:
    asked = threading.Event()

    def busy(handler: Handler) -> None:
        status(503, Retry_After="20")(handler)
        asked.set()

    with scripted(busy) as server:
        cancelled(start(far(server.url)), asked)
        assert len(server.posts) == 1


def test_a_request_can_be_cancelled_before_the_first_byte(start: Start) -> None:
    with scripted(silence) as server:
        cancelled(start(far(server.url)), server.silent)
        assert server.left.wait(SOON_S)


def test_a_request_can_be_cancelled_while_it_is_answered(start: Start) -> None:
    with scripted(events(chunk({"content": "a"}), then=Handler.wait_until_left)) as server:
        answer = cancelled(start(far(server.url)), server.silent)
        assert answer.text == "a"
        assert answer.finish is not None
        assert answer.finish.usage.output_tokens == 1
        assert server.left.wait(SOON_S)


def test_a_request_can_be_cancelled_in_tls(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.backends.openai_remote.scripted import AUTHORITY

    monkeypatch.setenv("SSL_CERT_FILE", str(AUTHORITY))
    spoken = events(chunk({"content": "a"}), then=Handler.wait_until_left)
    with scripted(spoken, secure=True) as server:
        cancelled(start(far(server.url)), server.silent)


def test_a_request_is_cancelled_before_it_begins_to_connect(start: Start) -> None:
    with scripted() as server:
        launched = start(far(server.url))
        call = HttpCall()
        call.cancel()
        with pytest.raises(CallCancelled):
            launched.engine._client.request(call, "POST", "/chat/completions", b"{}")
        assert server.posts == []


def test_cancelling_what_does_not_run_does_nothing(start: Start) -> None:
    with scripted(chat("a"), chat("b")) as server:
        launched = start(far(server.url))
        launched.engine.cancel("unknown")
        launched.answer(ask("Hi"), id="done")
        launched.engine.cancel("done")
        assert launched.answer(ask("Hi")).text == "b"


def test_a_connection_made_after_the_cancel_is_closed() -> None:
    call, begun, proceed, closed = HttpCall(), threading.Event(), threading.Event(), threading.Event()

    def connect() -> None:
        begun.set()
        proceed.wait(5)

    def wait() -> None:
        with pytest.raises(CallCancelled):
            call.connect(connect, closed.set)

    thread = threading.Thread(target=wait)
    thread.start()
    assert begun.wait(5)
    call.cancel()
    thread.join(SOON_S)
    assert not thread.is_alive()
    assert not closed.is_set()
    proceed.set()
    assert closed.wait(5)
