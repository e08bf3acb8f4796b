"""What a test of a dialect renders itself is checked against the published schemas."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import published_answers


@pytest.fixture(scope="package")
def _render_checks() -> Iterator[list[str]]:
    if not published_answers.IS_INSTALLED:
        yield []
        return
    with published_answers.checked_dialects() as found:
        yield found


@pytest.fixture(autouse=True)
def _renderings_fit_the_published_schemas(_render_checks: list[str]) -> Iterator[None]:
    _render_checks.clear()
    yield
    assert not _render_checks, "\n".join(_render_checks)
