"""The token that cancels an engine start."""

from __future__ import annotations

from backends.base import CancellationToken


def test_a_cancellation_calls_the_callbacks_once() -> None:
    token, calls = CancellationToken(), []
    with token.on_cancel(lambda: calls.append("first")), token.on_cancel(lambda: calls.append("second")):
        assert not token.cancelled
        token.cancel()
        token.cancel()
    assert token.cancelled
    assert calls == ["first", "second"]


def test_a_callback_is_called_at_once_when_the_token_is_already_cancelled() -> None:
    token, calls = CancellationToken(), []
    token.cancel()
    with token.on_cancel(lambda: calls.append("called")):
        assert calls == ["called"]


def test_a_callback_is_not_called_after_its_block() -> None:
    token, calls = CancellationToken(), []
    with token.on_cancel(lambda: calls.append("called")):
        pass
    token.cancel()
    assert calls == []
