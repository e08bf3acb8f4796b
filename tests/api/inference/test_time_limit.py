"""The time limit of a request, by its own header and by those of the SDKs."""

from __future__ import annotations

import openai
import pytest
from flask.testing import FlaskClient

from tests.support.api_fakes import Fakes

ASK = {"model": "demo", "input": "x"}
OWN, SDK, JAVASCRIPT = "X-Request-Timeout-Ms", "x-stainless-read-timeout", "x-stainless-timeout"


def limit_of(http: FlaskClient, fakes: Fakes, headers: dict[str, str], **body: object) -> int | None:
    assert http.post("/v1/responses", json=ASK | body, headers=headers).status_code == 200
    return list(fakes.ledger.jobs.values())[-1].time_limit_ms


@pytest.mark.parametrize(
    ("headers", "limit"),
    [
        ({}, None),
        ({OWN: "1"}, 1),
        ({OWN: "30000"}, 30_000),
        ({SDK: "600.0"}, 600_000),
        ({SDK: "2.5"}, 2500),
        ({JAVASCRIPT: "600"}, 600_000),
        ({OWN: "30000", SDK: "600"}, 30_000),
        ({OWN: "30000", SDK: "20"}, 20_000),
        ({SDK: "None"}, None),
        ({SDK: "-1"}, None),
        ({SDK: "nan"}, None),
        ({SDK: "0"}, None),
        ({SDK: "9" * 300}, None),
    ],
)
def test_an_answer_in_one_piece_has_the_smallest_limit(
    http: FlaskClient, fakes: Fakes, headers: dict[str, str], limit: int | None
) -> None:
    assert limit_of(http, fakes, headers) == limit


@pytest.mark.parametrize("mode", ["stream", "background"])
def test_the_limit_of_an_sdk_does_not_count_for_an_answer_that_it_does_not_wait_for(
    http: FlaskClient, fakes: Fakes, mode: str
) -> None:
    assert limit_of(http, fakes, {SDK: "5", JAVASCRIPT: "5"}, **{mode: True}) is None
    assert limit_of(http, fakes, {OWN: "7000", SDK: "5"}, **{mode: True}) == 7000


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "x", "", "86400001", "9" * 400, "\u0661"])
def test_a_malformed_limit_is_refused_with_its_header(http: FlaskClient, fakes: Fakes, value: str) -> None:
    answer = http.post("/v1/responses", json=ASK, environ_overrides={"HTTP_X_REQUEST_TIMEOUT_MS": value})
    error = answer.get_json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "invalid_request", OWN)
    assert not fakes.ledger.jobs


def test_the_time_out_of_openais_sdk_is_the_limit(sdk: openai.OpenAI, fakes: Fakes) -> None:
    sdk.with_options(timeout=12.5).chat.completions.create(
        model="demo", messages=[{"role": "user", "content": "x"}]
    )
    assert list(fakes.ledger.jobs.values())[-1].time_limit_ms == 12_500
