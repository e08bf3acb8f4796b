"""The times of an answer as one line."""

from __future__ import annotations

import pytest

from stoker.chat.answer import Timing


@pytest.mark.parametrize(
    ("timing", "text"),
    [
        (Timing(0.2, 2.2, 41), "first token after 200 ms, 41 tokens in 2200 ms, 20 tokens/s"),
        (Timing(0.011, 0.012, 16), "first token after 11 ms, 16 tokens in 12 ms"),
        (Timing(0.2, 12.2, 1), "first token after 200 ms, 1 tokens in 12.2 s"),
    ],
)
def test_times_have_a_speed_when_the_tokens_took_long_enough(timing: Timing, text: str) -> None:
    assert str(timing) == text
