"""Every error has the same envelope, without text from a library."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

import fleet.errors
import store.errors
from api.http.errors import CODES, error_from_end, headers_of, kind_of
from api.request_hooks import request_ids
from store.errors import Failed, FailedInQueue, QueueFull, StokerError
from streams.events import End
from tests.support.api_fakes import Fakes

ASK = {"model": "demo", "input": "x"}


def errors_of(module: object) -> list[type[StokerError]]:
    found = [item for item in vars(module).values() if isinstance(item, type)]
    return [item for item in found if issubclass(item, StokerError)]


@pytest.mark.parametrize("error", [*errors_of(store.errors), *errors_of(fleet.errors)])
def test_every_error_of_scheduler_and_fleet_is_in_the_table(error: type[StokerError]) -> None:
    assert error.default_code in CODES


@pytest.mark.rule("state/request-behavior")
@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("unknown_model", 404),
        ("model_not_loaded", 409),
        ("model_loading", 409),
        ("model_unloading", 409),
        ("model_failed", 409),
        ("thinking_unsupported", 400),
        ("image_unsupported", 400),
        ("multi_turn_unsupported", 400),
        ("queue_full", 503),
        ("rate_limit_exceeded", 429),
        ("engine_crashed", 502),
        ("engine_stalled", 504),
        ("not_in_the_table", 500),
    ],
)
def test_a_code_has_one_status(code: str, status: int) -> None:
    assert kind_of(code).status == status


def test_a_full_queue_is_answered_as_documented(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.rejection = QueueFull(
        "Queue depth 16/16, retry in 5 seconds",
        retry_after_s=5,
        details={"queueDepth": 16, "avgWaitMs": 2000},
    )
    answer = http.post("/v1/responses", json=ASK)
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "5"
    assert "x-should-retry" not in answer.headers
    assert answer.json == {
        "error": {
            "message": "Queue depth 16/16, retry in 5 seconds",
            "type": "server_error",
            "param": None,
            "code": "queue_full",
            "queueDepth": 16,
            "avgWaitMs": 2000,
        }
    }


def test_a_pointless_retry_is_discouraged_and_a_long_retry_after_is_capped() -> None:
    assert headers_of(StokerError("x", code="model_failed")) == {"x-should-retry": "false"}
    assert headers_of(StokerError("x", code="model_loading", retry_after_s=900)) == {"Retry-After": "60"}


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/chat/completions"])
def test_a_response_that_fails_is_an_error(http: FlaskClient, fakes: Fakes, path: str) -> None:
    end = End("failed", code="engine_crashed", message="the engine was killed by SIGKILL", run_ms=3)
    fakes.ledger.script = [end]
    body = {**ASK, "messages": [{"role": "user", "content": "x"}]}
    if path == "/v1/responses":
        del body["messages"]
    answer = http.post(path, json=body)
    assert (answer.status_code, answer.json["error"]["code"]) == (502, "engine_crashed")
    assert answer.headers["x-should-retry"] == "false"


def test_a_response_that_never_ran_was_evicted_and_one_that_ran_failed() -> None:
    assert isinstance(error_from_end(End("failed", code="queue_timeout", queue_ms=9)), FailedInQueue)
    assert isinstance(error_from_end(End("failed", code="worker_lost", run_ms=9)), Failed)
    assert error_from_end(End("failed")).code == "engine_error"
    assert error_from_end(End("cancelled")).code == "cancelled"


def test_every_response_carries_its_request_id(http: FlaskClient) -> None:
    seen = set()
    for path in ("/health", "/nowhere", "/v1/models", "/v1/responses"):
        headers = http.get(path).headers
        assert headers["x-request-id"] == headers["request-id"]
        seen.add(headers["request-id"])
    assert len(seen) == 4


@pytest.mark.parametrize("route", ["responses", "queue"])
def test_the_log_has_the_id_of_a_response_that_is_asked_for_if_it_can_be_one(
    http: FlaskClient, route: str
) -> None:
    for id, logged in (("resp_" + "0a" * 16, "resp_" + "0a" * 16), ("resp_%0d%0aforged", None)):
        environ = http.environ_base
        with http.application.test_request_context(f"/v1/{route}/{id}", environ_base=environ):
            http.application.preprocess_request()
            assert request_ids().response_id == logged


def test_errors_of_flask_and_werkzeug_have_the_envelope(http: FlaskClient) -> None:
    for answer, status, code in (
        (http.get("/nowhere"), 404, "not_found"),
        (http.put("/v1/responses"), 405, "method_not_allowed"),
    ):
        assert (answer.status_code, answer.json["error"]["code"]) == (status, code)
        assert set(answer.json["error"]) == {"message", "type", "param", "code"}
    assert set(http.put("/v1/chat/completions").headers["Allow"].split(", ")) == {"POST", "OPTIONS"}


def test_an_unexpected_exception_does_not_reach_the_client(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.rejection = RuntimeError("secret at 0x7f00")
    answer = http.post("/v1/responses", json=ASK)
    assert (answer.status_code, answer.json["error"]["code"]) == (500, "internal_error")
    assert "secret" not in answer.text
