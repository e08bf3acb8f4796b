"""The headers about a tenant's limits, and the answers at a limit."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from api.http.errors import body_of, headers_of
from api.http.limit_headers import duration_text, limit_headers
from store.errors import BeyondTokenLimit, BudgetExceeded, ModelNotLoaded
from store.limit_state import LimitState
from tests.support.api_fakes import Fakes

STATES = (LimitState("requests", 100, 57, 60.0), LimitState("tokens", 20_000, 0, 59.5))
HEADERS = {
    "x-ratelimit-limit-requests": "100",
    "x-ratelimit-remaining-requests": "57",
    "x-ratelimit-reset-requests": "1m0s",
    "x-ratelimit-limit-tokens": "20000",
    "x-ratelimit-remaining-tokens": "0",
    "x-ratelimit-reset-tokens": "59.5s",
}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0ms"),
        (0.0121, "13ms"),
        (0.9995, "1s"),
        (1.0, "1s"),
        (8.64, "8.64s"),
        (59.9996, "1m0s"),
        (360.0, "6m0s"),
        (3599.9999, "1h0m0s"),
        (86_370.0, "23h59m30s"),
    ],
)
def test_a_duration_is_written_as_openai_does(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_each_limit_has_three_headers() -> None:
    assert limit_headers(STATES) == HEADERS
    assert limit_headers(()) == {}


@pytest.mark.parametrize("fields", [{}, {"stream": True}, {"background": True}])
def test_every_answer_of_an_admitted_request_has_them(
    http: FlaskClient, fakes: Fakes, fields: dict[str, Any]
) -> None:
    fakes.ledger.limits = STATES
    answer = http.post("/v1/responses", json={"model": "demo", "input": "Hi", **fields})
    assert answer.status_code == 200
    assert HEADERS.items() <= dict(answer.headers).items()


def test_a_refused_request_has_them(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.rejection = ModelNotLoaded("model demo is not loaded")
    fakes.ledger.rejection.limits = STATES  # type: ignore[attr-defined]
    answer = http.post("/v1/responses", json={"model": "demo", "input": "Hi"})
    assert answer.status_code == 409
    assert HEADERS.items() <= dict(answer.headers).items()


def test_a_tenant_without_limits_gets_none(http: FlaskClient) -> None:
    answer = http.post("/v1/responses", json={"model": "demo", "input": "Hi"})
    assert "x-ratelimit-" not in str(answer.headers).lower()


def test_a_used_budget_names_the_end_of_the_month_and_lets_no_sdk_wait_for_it() -> None:
    error = BudgetExceeded("used", retry_after_s=1_000_000)
    assert headers_of(error) == {"Retry-After": "1000000", "x-should-retry": "false"}


def test_a_request_that_is_never_admitted_is_not_to_be_repeated() -> None:
    error = BeyondTokenLimit("this request may take 10 tokens", details={"limit": 9, "remaining": 9})
    assert headers_of(error) == {"x-should-retry": "false"}
    assert body_of(error)["error"]["remaining"] == 9
