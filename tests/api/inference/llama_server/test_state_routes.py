"""POST /slots/{id}: what a request becomes, what it answers, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from config.settings import ModelDefinition, Settings, StateSettings
from generation.generation import Generation, StateRequest, conversation_hash
from streams.events import End, TextDelta
from tests.support.api_fakes import Fakes

PATH = "/slots/0?action=save"
SAVED = '{"n_saved":84,"n_written":9000,"timings":{"save_ms":1.5}}'


@pytest.fixture
def settings(settings: Settings) -> Settings:
    model = ModelDefinition("llama", "llama_cpp", model_path="models/stoker-demo.gguf")
    uncached = replace(model, name="uncached", options={"gguf_cache_prompt": False})
    models = {**settings.models, "llama": model, "uncached": uncached}
    return replace(settings, models=models, state=StateSettings("/states"))


@pytest.fixture(autouse=True)
def _script(fakes: Fakes) -> None:
    fakes.ledger.script = [TextDelta(SAVED), End("completed", "stop")]


def post(http: FlaskClient, path: str = PATH, body: Any = None, **headers: str) -> TestResponse:
    sent = {"model": "llama", "filename": "a.bin"} if body is None else body
    return http.post(
        path, json=sent, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )


def refusal(answer: TestResponse) -> tuple[int, str]:
    error = answer.get_json()["error"]
    assert error["code"] == answer.status_code
    return answer.status_code, error["message"]


class TestOff:
    """Without the setting."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return replace(settings, state=StateSettings())

    @pytest.mark.parametrize("path", [PATH, "/slots/0?action=restore", "/slots/x?action=erase", "/slots/0"])
    def test_every_action_is_refused_with_the_setting(
        self, http: FlaskClient, fakes: Fakes, path: str
    ) -> None:
        answer = post(http, path)
        assert answer.get_json() == {
            "error": {
                "code": 501,
                "message": "This server does not support slots action. Start it with the setting"
                " `state.directory`",
                "type": "not_supported_error",
            }
        }
        assert not fakes.ledger.jobs


def test_a_request_is_a_job_that_computes_nothing_and_answers_as_llama_server(
    http: FlaskClient, fakes: Fakes
) -> None:
    answer = post(http, "/slots/3?action=save")
    assert answer.status_code == 200
    assert answer.get_json() == {
        **{"id_slot": 3, "filename": "a.bin", "n_saved": 84, "n_written": 9000},
        "timings": {"save_ms": 1.5},
    }
    job = fakes.ledger.only()
    generation = Generation.from_json(job.generation)
    assert generation.state == StateRequest("save", 3, "a.bin")
    assert generation.computes_nothing
    assert (job.cost, job.resume_id, job.wanted_replica) == (1, None, None)


@pytest.mark.parametrize("by_header", [True, False])
def test_a_conversation_is_named_by_the_header_or_the_body_and_stays_a_stream(
    http: FlaskClient, fakes: Fakes, by_header: bool
) -> None:
    body = {"model": "llama", "filename": "a.bin"}
    if by_header:
        post(http, X_Conversation_Id="chat/1")
    else:
        post(http, body={**body, "conversation_id": "chat/1"})
    job = fakes.ledger.only()
    asked = Generation.from_json(job.generation).state
    assert asked is not None
    assert asked.conversation == conversation_hash("chat/1")
    assert job.resume_id is None


def test_a_generation_names_its_conversation_to_the_engine(http: FlaskClient, fakes: Fakes) -> None:
    body = {"model": "llama", "messages": [{"role": "user", "content": "Hello"}]}
    post(http, "/v1/chat/completions", body, X_Conversation_Id="chat/1")
    generation = Generation.from_json(fakes.ledger.only().generation)
    assert generation.conversation == conversation_hash("chat/1")


def test_an_erasure_needs_no_body_where_the_key_has_one_model(http: FlaskClient, fakes: Fakes) -> None:
    answer = http.post("/slots/0?action=erase")
    assert refusal(answer) == (400, "model name is missing from the request")
    fakes.ledger.script = [TextDelta('{"n_erased":5}'), End("completed", "stop")]
    answer = post(http, "/slots/0?action=erase", {"model": "llama"})
    assert answer.get_json() == {"id_slot": 0, "n_erased": 5}


@pytest.mark.parametrize(
    ("code", "status"),
    [
        *(("state_not_found", 404), ("state_unusable", 400), ("state_quota_exceeded", 409)),
        *(("state_disk_full", 503), ("conversation_locked", 409), ("not_supported", 501)),
    ],
)
def test_a_failure_in_the_worker_has_its_status_and_llama_servers_form(
    http: FlaskClient, fakes: Fakes, code: str, status: int
) -> None:
    fakes.ledger.script = [End("failed", code=code, message="a reason")]
    assert refusal(post(http)) == (status, "a reason")


@pytest.mark.parametrize("model", ["stub", "uncached"])
def test_a_model_that_keeps_no_states_is_refused(http: FlaskClient, fakes: Fakes, model: str) -> None:
    name = model if model == "uncached" else next(iter(fakes.fleet.settings.models))
    status, message = refusal(post(http, body={"model": name, "filename": "a"}))
    assert (status, message) == (501, f"model {name} keeps no states that can be saved")


@pytest.mark.parametrize("replicas", [2, 3])
def test_a_restore_and_an_erasure_have_a_job_for_each_replica(
    http: FlaskClient, fakes: Fakes, replicas: int
) -> None:
    fakes.ledger.ready = tuple(f"llama-{number}" for number in range(replicas))
    fakes.ledger.script = [TextDelta('{"n_erased":5}'), End("completed", "stop")]
    answer = post(http, "/slots/0?action=erase", {"model": "llama"}, X_Conversation_Id="chat")
    assert answer.get_json() == {"id_slot": 0, "n_erased": 5 * replicas}
    jobs = list(fakes.ledger.jobs.values())
    assert sorted(job.wanted_replica or "" for job in jobs) == list(fakes.ledger.ready)
    for job in jobs:
        asked = Generation.from_json(job.generation).state
        assert asked is not None
        assert asked.replica == job.wanted_replica


def test_a_save_of_several_replicas_needs_a_conversation_that_is_known(
    http: FlaskClient, fakes: Fakes
) -> None:
    fakes.ledger.ready = ("llama-0", "llama-1")
    assert refusal(post(http))[0] == 501
    assert refusal(post(http, X_Conversation_Id="unknown"))[0] == 404
    assert not fakes.ledger.jobs
