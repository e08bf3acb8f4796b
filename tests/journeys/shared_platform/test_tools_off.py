"""Tools of a platform whose settings enable none."""

from __future__ import annotations

import pytest

from tests.support.platform import Platform

pytestmark = pytest.mark.journey

DISABLED = {"error": {"message": "this feature is disabled", "type": "feature_disabled"}}
"""The body of llama-server (tools/server/server.cpp), which has no code."""


@pytest.mark.rule("llama-server/tools-off")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/tools"),
        ("POST", "/tools"),
        ("POST", "/v1/tools"),
        ("GET", "/cors-proxy?url=http://127.0.0.1/"),
        ("POST", "/cors-proxy"),
    ],
)
def test_tools_are_off_unless_they_are_enabled(shared: Platform, method: str, path: str) -> None:
    body = {"tool": "get_datetime", "params": {}} if method == "POST" else None
    assert shared.call(method, path, body) == (403, DISABLED)


def test_list_of_tools_is_empty_for_pages_when_tools_are_off(shared: Platform) -> None:
    assert shared.call("GET", "/v1/tools") == (200, [])
