"""Answers that end by their lines."""

from __future__ import annotations

import pytest

from backends.llama_cpp.engine.line_limits import LineLimits


def taken(limits: LineLimits, *texts: str) -> str:
    """The text of the tokens up to the end."""
    text = ""
    for token in texts:
        if limits.is_reached:
            break
        text += limits.take(token)
    return text


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (("a", "\n", "    b", "\n    c"), "a\n    b\n    c"),
        (("  a\n    b\n  c",), "  a\n    b\n  "),
        (("a\n", "  ", "  b\n", " ", "c", "d"), "a\n    b\n "),
        (("a\n", "\n"), "a\n"),
        (("a\n\t\t\t\tb",), "a\n\t\t\t\tb"),
    ],
)
def test_line_with_less_white_space_ends_the_answer(tokens: tuple[str, ...], text: str) -> None:
    limits = LineLimits(4, 0)
    assert taken(limits, *tokens) == text
    assert limits.is_reached is (text != "".join(tokens))


def test_answer_ends_with_the_line_when_its_time_is_over() -> None:
    now = [0.0]
    limits = LineLimits(0, 500, lambda: now[0])
    assert taken(limits, "a", "\n") == "a\n"
    now[0] = 0.6
    assert taken(limits, "b", "c\n", "d") == "bc\n"
    assert limits.is_reached


def test_request_without_limits_has_none() -> None:
    assert LineLimits.of({}) is None
    assert LineLimits.of({"n_indent": 0, "t_max_predict_ms": -1}) is None
    assert LineLimits.of({"n_indent": 1}) is not None
