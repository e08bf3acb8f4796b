"""The bytes of a token follow from its name in the vocabulary."""

from __future__ import annotations

import pytest

from backends.exllamav3.engine.token_scores import name_bytes


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("ðŁĻĤ", "🙂".encode()),
        ("ðŁ", "🙂".encode()[:2]),
        ("ĠĊ", b" \n"),
        ("<0xF0>", b"\xf0"),
        ("▁\ufffd", None),
        (None, None),
    ],
)
def test_bytes_of_a_token_follow_from_its_name(name: str | None, data: bytes | None) -> None:
    assert name_bytes(name) == data
