"""The vectors that the browser's code is checked against are what the platform's code makes."""

from __future__ import annotations

from tests.ui.signing_vectors import FILE, as_text


def test_the_vectors_are_those_of_the_platforms_code() -> None:
    assert FILE.read_text() == as_text(), "run `python -m tests.ui.signing_vectors` and the tests of ui/"
