"""/v1/health answers as a llama-server: `ok`, or 503 in its form."""

from __future__ import annotations

from dataclasses import replace

from flask.testing import FlaskClient

from api.operations.health import HealthReader
from api.services import EXTENSION
from config.settings import QueueSettings
from fleet.states import ModelState
from tests.support.api_fakes import FakeRedisProbe, Fakes


def test_a_platform_that_takes_requests_is_ok_without_a_key(http: FlaskClient) -> None:
    del http.environ_base["HTTP_AUTHORIZATION"]
    answer = http.get("/v1/health")
    assert (answer.status_code, answer.get_json()) == (200, {"status": "ok"})


def test_a_platform_that_starts_loads_its_model(http: FlaskClient, fakes: Fakes) -> None:
    serving_state = fakes.fleet.serving_state
    fakes.fleet.states = dict.fromkeys(fakes.fleet.states, ModelState.LOADING)

    def starting() -> object:
        state = serving_state()
        return replace(
            state,
            models=tuple(
                replace(model, was_loaded=False, definition=replace(model.definition, enabled=True))
                for model in state.models
            ),
        )

    fakes.fleet.serving_state = starting  # type: ignore[method-assign, assignment]
    http.application.extensions[EXTENSION][HealthReader] = HealthReader(
        FakeRedisProbe(fakes.fleet),
        starting,
        QueueSettings(),
        0.0,  # type: ignore[arg-type]
    )
    answer = http.get("/v1/health")
    loading = {"code": 503, "message": "Loading model", "type": "unavailable_error"}
    assert (answer.status_code, answer.get_json()) == (503, {"error": loading})


def test_a_platform_without_its_store_is_unavailable(http: FlaskClient, fakes: Fakes) -> None:
    fakes.fleet.unreachable = True
    error = http.get("/v1/health").get_json()["error"]
    assert error == {"code": 503, "message": "storage_unavailable", "type": "unavailable_error"}
