"""Headers that protect the clients: no copy in a cache, no guessed type, no foreign frame or script."""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient

ASK = {"model": "demo", "input": "x"}


def test_an_answer_of_the_api_is_not_stored_by_a_cache(http: FlaskClient) -> None:
    for answer in (
        http.get("/v1/models"),
        http.get("/health"),
        http.get("/openapi.json"),
        http.get("/docs"),
        http.get("/no-such-path"),
        http.get("/v1/responses"),
        http.get("/v1/models", headers={"Authorization": "Bearer wrong"}),
        http.post("/v1/responses", json=ASK),
        http.post("/v1/responses", json=ASK | {"stream": True}),
        http.post("/v1/responses", json={}),
    ):
        assert answer.headers.getlist("Cache-Control") == ["no-store"], answer.request.path
        assert answer.headers.getlist("X-Content-Type-Options") == ["nosniff"]


def test_a_file_of_the_documentation_may_be_stored_and_is_checked_again(http: FlaskClient) -> None:
    answer = http.get("/static/swagger-ui/swagger-ui.css")
    assert answer.headers["Cache-Control"] == "no-cache"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_the_documentation_runs_its_own_scripts_only_and_in_no_frame(http: FlaskClient) -> None:
    answer = http.get("/docs")
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";"))
    assert (policy["default-src"], policy["frame-ancestors"]) == ("'none'", "'none'")
    assert policy["connect-src"] == "'self'"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert policy["script-src"] == "'self'"
    assert "<script>" not in answer.text
    assert not re.search(r"\son\w+=|javascript:|<style|https?://", answer.text)


@pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/v1/models", "/health"])
def test_a_host_of_the_client_is_in_no_answer(http: FlaskClient, path: str) -> None:
    answer = http.get(path, headers={"Host": "evil.example"})
    assert "evil.example" not in answer.text
    assert "evil.example" not in str(answer.headers)
