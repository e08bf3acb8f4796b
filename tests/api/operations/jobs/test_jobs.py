"""/v1/admin/jobs on a real ledger: who runs and waits, page by page, and why the next one is next."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from api.inference import job_pages
from api.operations.jobs_schema import JobDetails, JobList
from api.wiring import make_services
from config.settings import GovernanceSettings, Settings
from fleet.fleet import Fleet
from scheduler.job import QUEUE_PRIORITIES, Status
from tests.api.conftest import ADMIN_KEY
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.wsgi_answers import create_app, start_services

SECRET = b'{"messages": [{"role": "user", "content": "a secret prompt"}]}'


def all_pages(admin: FlaskClient, query: str = "") -> list[list[dict[str, Any]]]:
    found, after = [], ""
    while True:
        page = admin.get(f"/v1/admin/jobs?{query}{after}").get_json()
        assert JobList().validate(page) == {}
        found.append(page["data"])
        assert page["has_more"] == (page["next_after"] is not None)
        if not page["has_more"]:
            return found
        after = f"&after={quote(page['next_after'])}"


def test_a_page_shows_running_and_waiting_jobs_of_all_models(
    admin: FlaskClient, platform: SimulatedPlatform
) -> None:
    running = platform.admit("one", "high", generation=SECRET, echo=SECRET)
    claim = platform.run(running)
    platform.append_text(claim, 1, "a secret", "answer")
    waiting = [platform.admit("two", "low"), platform.admit("one")]
    other = platform.admit("two", model="org/beta")
    answer = admin.get("/v1/admin/jobs")
    assert "secret" not in answer.text
    (page,) = all_pages(admin)
    assert [job["id"] for job in page] == [running, *waiting, other]
    first, second, third, _ = page
    assert (first["model"], first["tenant"], first["priority"], first["status"]) == (
        *("alpha", "one", "high"),
        "running",
    )
    assert (first["worker"], first["replica"], first["attempt"], first["tokens"]) == (
        "w1",
        claim.replica,
        1,
        2,
    )
    assert first["tokensPerSecond"] > 0
    assert (first["position"], first["estimatedWaitMs"], first["runMs"] >= 0) == (None, None, True)
    assert (second["position"], third["position"], second["positionIsEstimate"]) == (2, 1, False)
    assert (second["worker"], second["tokens"], second["runMs"], second["dispatchedAt"]) == (None,) * 4
    assert second["deadline"] > second["createdAt"]


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_the_pages_have_each_job_once(admin: FlaskClient, platform: SimulatedPlatform, limit: int) -> None:
    alpha = [platform.admit(tenant) for tenant in ("one", "two", "one", "two")]
    beta = [platform.admit(tenant, model="org/beta") for tenant in ("two", "one")]

    def ids(query: str) -> list[str]:
        found = all_pages(admin, f"limit={limit}&{query}")
        assert all(len(page) <= limit for page in found)
        return [job["id"] for page in found for job in page]

    assert ids("") == [*alpha, *beta]
    assert ids("model=org/beta") == beta
    assert ids("tenant=one") == [alpha[0], alpha[2], beta[1]]
    assert ids("status=running") == [alpha[0], beta[0]]
    assert ids("status=queued&tenant=two") == [alpha[1], alpha[3]]


def test_a_page_of_a_model_that_is_not_known_is_refused_without_a_read_in_the_view(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    governance = GovernanceSettings(models="allow", allow={"llama_cpp": ("*",)})
    settings = replace(settings, governance=governance)
    services = make_services(settings)
    start_services(services)
    try:
        views, refresh = threading.current_thread(), services[Fleet].catalogue.refresh

        def checked(*, after_s: float = 0.0) -> None:
            assert threading.current_thread() is not views, "the view blocks the event loop"
            refresh(after_s=after_s)

        monkeypatch.setattr(services[Fleet].catalogue, "refresh", checked)
        client = create_app(settings, services).test_client()
        answer = client.get("/v1/admin/jobs?model=gamma", headers={"X-API-Key": ADMIN_KEY})
        assert (answer.status_code, answer.get_json()["error"]["code"]) == (404, "unknown_model")
    finally:
        services.stop()


def test_a_page_reads_redis_a_bounded_number_of_times(
    admin: FlaskClient, platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_pages, "MAX_READS", 1)
    first, second = platform.admit("one"), platform.admit("one", model="org/beta")
    assert [[job["id"] for job in page] for page in all_pages(admin)] == [[first], [second]]


def test_a_page_of_a_model_that_is_gone_begins_with_the_next_model(
    admin: FlaskClient, platform: SimulatedPlatform
) -> None:
    platform.admit("one")
    second = platform.admit("one", model="org/beta")
    page = admin.get("/v1/admin/jobs?after=queued.17.beta/gone").get_json()
    assert [job["id"] for job in page["data"]] == [second]


@pytest.mark.parametrize(
    ("query", "status", "code", "param"),
    [
        ("model=none", 404, "unknown_model", "model"),
        ("tenant=a:b", 400, "invalid_request", "tenant"),
        ("status=completed", 400, "invalid_request", "status"),
        ("limit=0", 400, "invalid_request", "limit"),
        ("limit=201", 400, "invalid_request", "limit"),
        ("after=", 400, "invalid_request", "after"),
        ("after=ended.1.alpha", 400, "invalid_request", "after"),
        ("after=queued.-1.alpha", 400, "invalid_request", "after"),
        ("after=queued.12345678901234567.alpha", 400, "invalid_request", "after"),
    ],
)
def test_a_wrong_query_is_refused_with_its_parameter(
    admin: FlaskClient, query: str, status: int, code: str, param: str
) -> None:
    answer = admin.get(f"/v1/admin/jobs?{query}")
    error = answer.get_json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (status, code, param)


def test_a_waiting_job_is_shown_with_the_reason_why_it_waits(
    admin: FlaskClient, platform: SimulatedPlatform
) -> None:
    platform.admit("one", weight=2.0, cost=300)
    mine, other = platform.admit("one", weight=2.0), platform.admit("two")
    details = admin.get(f"/v1/admin/jobs/{mine}").get_json()
    assert JobDetails().validate(details) == {}
    assert (details["position"], details["end"]) == (2, None)
    found = details["queue"]
    assert (found["cause"], found["waitsFor"], found["slots"]) == ("served", "waiting for a slot", 1)
    assert found["reason"] == (
        "two goes next, since it was served less: 0 tokens for each unit of weight, against 150."
    )
    assert {priority: count for priority, count in found["skips"].items() if count is not None} == {
        "normal": 0
    }
    assert list(found["skips"]) == list(QUEUE_PRIORITIES)
    assert (found["next"]["id"], found["next"]["tenant"]["servedByWeight"]) == (other, 0)
    assert (found["tenant"]["weight"], found["tenant"]["servedByWeight"], found["tenant"]["mayTakeSlot"]) == (
        *(2.0, 150),
        True,
    )
    assert admin.get(f"/v1/admin/jobs/{other}").get_json()["queue"]["cause"] == "next"


def test_an_ended_job_is_shown_with_its_code_and_usage_and_without_its_message(
    admin: FlaskClient, platform: SimulatedPlatform
) -> None:
    done, failed = platform.admit("one"), platform.admit("one")
    platform.serve_next(finish_reason="stop", usage=b'{"input_tokens":3,"output_tokens":4,"cached_tokens":1}')
    platform.serve_next(status=Status.FAILED, code="engine_error", message="a secret")
    details = admin.get(f"/v1/admin/jobs/{done}").get_json()
    assert JobDetails().validate(details) == {}
    assert (details["status"], details["queue"], details["deadline"]) == ("completed", None, None)
    assert details["end"] == {
        "finishReason": "stop", "code": None, "inputTokens": 3, "outputTokens": 4, "cachedTokens": 1
    }  # fmt: skip
    answer = admin.get(f"/v1/admin/jobs/{failed}")
    assert answer.get_json()["end"]["code"] == "engine_error"
    assert "secret" not in answer.text


def test_an_unknown_job_is_not_found(admin: FlaskClient) -> None:
    answer = admin.get("/v1/admin/jobs/resp_unknown")
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (404, "not_found")


def test_a_tenant_may_not_see_the_jobs(http: FlaskClient, platform: SimulatedPlatform) -> None:
    id = platform.admit("one")
    for path in ("", f"/{id}"):
        assert http.get(f"/v1/admin/jobs{path}").status_code == 403
