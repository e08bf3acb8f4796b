"""/v1/batches and /v1/messages/batches, with the SDKs; `tests/journeys/test_deaths.py` runs them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import anthropic
import openai
import orjson
import pytest
from flask.testing import FlaskClient

from api.batches.line_job import UnreadJob, answer_of, caller_of, make_line_job
from api.batches.lines import Line
from api.batches.record import BatchRecord, Progress
from api.batches.run import INPUT, RESULTS
from api.files.store import FileStore
from api.http.errors import Forbidden, InvalidApiKey
from api.inference.dialects.vectors import json_form
from api.inference.embeddings import dialect as embeddings
from api.inference.make_job import replace_generation
from api.services import AppServices
from config.api_keys import digest_of
from config.settings import BatchSettings, FileSettings, ModelDefinition, Settings
from scheduler.batches import BatchRow, BatchStore
from scheduler.job import Job, JobRow, Status
from store.errors import StokerError, UnknownModel
from streams.events import End, Usage, VectorDelta
from tests.api.conftest import KEY, OTHER_KEY
from tests.support.batch_lines import CHAT, chat_line, jsonl, parsed
from tests.support.pdf_files import data_url_of, pdf
from tests.support.waiting import scaled

LINES = jsonl(chat_line("a", "x", "demo"), chat_line("b", "x", "demo"))
PARAMS: Any = {"model": "demo", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]}


@pytest.fixture
def settings(shared_settings: Settings) -> Settings:
    vectors = ModelDefinition("vectors", "stub", options={"stub_dimensions": 8})
    return replace(
        shared_settings,
        models={**shared_settings.models, "vectors": vectors},
        batches=BatchSettings(max_active_per_tenant=3),
        files=FileSettings(max_bytes_per_tenant=10_000, keep_free_mib=0),
    )


@pytest.fixture
def claude(port: int) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=f"http://127.0.0.1:{port}", api_key=KEY, max_retries=0) as client:
        yield client


def row_of(services: AppServices, id: str) -> BatchRow:
    row = services[BatchStore].get(id)
    assert row is not None
    return row


def set_progress(services: AppServices, id: str, progress: Progress, content: bytes | None = None) -> None:
    """Write a batch's progress, as the runner does, and the results of a batch of messages."""
    row = row_of(services, id)
    if content is not None:
        (services[FileStore].folder(row.tenant) / id / RESULTS).write_bytes(content)
    fence = services[BatchStore].hold("") or ""
    services[BatchStore].update(id, fence, progress.to_json(), ended=progress.has_ended)
    services[BatchStore].hold(fence, give_back=True)


def new_batch(sdk: openai.OpenAI, content: bytes = LINES) -> Any:
    file = sdk.files.create(file=("in.jsonl", content), purpose="batch")
    return sdk.batches.create(
        input_file_id=file.id, endpoint=CHAT, completion_window="24h", metadata={"for": "test"}
    )


def test_the_sdk_creates_lists_retrieves_and_cancels_batches(
    sdk: openai.OpenAI, services: AppServices
) -> None:
    first, second = new_batch(sdk), new_batch(sdk)
    assert (first.status, first.endpoint, first.metadata) == ("validating", CHAT, {"for": "test"})
    assert first.expires_at == first.created_at + 86_400
    assert sdk.batches.retrieve(first.id) == first
    assert [batch.id for batch in sdk.batches.list(limit=1)] == [second.id, first.id]  # two pages
    sdk.files.delete(first.input_file_id)
    row = row_of(services, first.id)
    assert (services[FileStore].folder("one") / first.id / INPUT).read_bytes() == LINES, "it keeps its input"
    assert BatchRecord.from_json(row.record).key == digest_of(KEY)
    cancelled = sdk.batches.cancel(first.id)
    assert cancelled.status == "cancelling"
    assert cancelled.cancelling_at is not None
    progress = Progress.from_json(row.progress)
    progress.enter("cancelled", first.created_at + 5)
    progress.usage = [3, 1, 4, 2]
    set_progress(services, first.id, progress)
    ended = sdk.batches.cancel(first.id)
    assert (ended.status, ended.cancelled_at) == ("cancelled", first.created_at + 5)
    assert ended.usage is not None
    assert ended.usage.total_tokens == 7


def test_the_problems_of_an_input_are_shown(sdk: openai.OpenAI, services: AppServices) -> None:
    batch = new_batch(sdk)
    problem = {"code": "invalid_method", "message": "must be POST", "line": 2, "param": "method"}
    progress = Progress(errors=[problem])
    progress.enter("failed", batch.created_at)
    set_progress(services, batch.id, progress)
    failed = sdk.batches.retrieve(batch.id)
    assert failed.errors is not None
    assert failed.errors.data is not None
    assert failed.errors.data[0].to_dict() == problem


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"input_file_id": "file-" + "0" * 32}, "input_file_id"),
        ({"input_file_id": "../../x"}, "input_file_id"),
        ({"endpoint": "/v1/moderations"}, "endpoint"),
        ({"completion_window": "1h"}, "completion_window"),
        ({"output_expires_after": {"anchor": "created_at", "seconds": 1}}, "output_expires_after.seconds"),
        ({"metadata": {"a": 1}}, "metadata.a"),
    ],
)
def test_a_batch_that_does_not_fit_is_refused(
    http: FlaskClient, services: AppServices, change: dict[str, Any], param: str
) -> None:
    file = services[FileStore].create("one", "a", "batch", LINES, None)
    body = {"input_file_id": file.id, "endpoint": CHAT, "completion_window": "24h"} | change
    answer = http.post("/v1/batches", json=body)
    assert (answer.status_code, answer.json["error"]["param"]) == (400, param)
    assert not list(services[FileStore].folder("one").glob("batch_*"))


def test_a_file_of_another_purpose_or_tenant_is_no_input(http: FlaskClient, services: AppServices) -> None:
    for file in (
        services[FileStore].create("one", "a", "user_data", LINES, None),
        services[FileStore].create("two", "a", "batch", LINES, None),
    ):
        body = {"input_file_id": file.id, "endpoint": CHAT, "completion_window": "24h"}
        assert http.post("/v1/batches", json=body).status_code == 400


def test_a_tenant_has_a_bounded_number_of_batches_at_a_time(
    sdk: openai.OpenAI, services: AppServices
) -> None:
    for _ in range(3):
        new_batch(sdk)
    with pytest.raises(openai.ConflictError, match="max_active_per_tenant"):
        new_batch(sdk)
    assert len(list(services[FileStore].folder("one").glob("batch_*"))) == 3


def test_a_batch_of_another_tenant_or_kind_does_not_exist(http: FlaskClient, sdk: openai.OpenAI) -> None:
    id = new_batch(sdk).id
    other = {"Authorization": f"Bearer {OTHER_KEY}"}
    for path, headers in ((f"/v1/batches/{id}", other), (f"/v1/messages/batches/{id}", {})):
        assert http.get(path, headers=headers).status_code == 404
        assert http.post(f"{path}/cancel", headers=headers).status_code == 404
    assert http.get("/v1/batches", headers=other).json["data"] == []
    assert http.get("/v1/batches/..%2f").status_code == 404
    assert sdk.batches.retrieve(id).status == "validating"


def test_the_sdk_of_anthropic_creates_lists_reads_and_deletes_batches(
    claude: anthropic.Anthropic, services: AppServices
) -> None:
    batches = claude.messages.batches
    first, second = (batches.create(requests=[{"custom_id": id, "params": PARAMS}]) for id in "ab")
    assert (first.processing_status, first.request_counts.processing) == ("in_progress", 1)
    assert batches.retrieve(first.id) == first
    assert [batch.id for batch in batches.list(limit=1)] == [second.id, first.id]  # two pages
    assert [batch.id for batch in batches.list(before_id=first.id).data] == [second.id]
    with pytest.raises(anthropic.ConflictError):
        batches.delete(first.id)
    assert batches.cancel(first.id).processing_status == "canceling"
    progress = Progress(total=1)
    progress.counts["canceled"] = 1
    progress.enter("cancelled", first.created_at.timestamp() + 5)
    line = orjson.dumps({"custom_id": "a", "result": {"type": "canceled"}})
    set_progress(services, first.id, progress, line + b"\n")
    ended = batches.retrieve(first.id)
    assert (ended.processing_status, ended.request_counts.canceled) == ("ended", 1)
    assert ended.ended_at is not None
    (result,) = batches.results(first.id)
    assert (result.custom_id, result.result.type) == ("a", "canceled")
    assert batches.delete(first.id).type == "message_batch_deleted"
    with pytest.raises(anthropic.NotFoundError):
        batches.retrieve(first.id)
    assert not (services[FileStore].folder("one") / first.id).exists()


@pytest.mark.parametrize(
    ("requests", "param"),
    [
        ([], "requests"),
        ([{"custom_id": "a b", "params": PARAMS}], "requests[0].custom_id"),
        ([{"custom_id": "a", "params": PARAMS}] * 2, "requests[1].custom_id"),
        ([{"custom_id": "a"}], "requests[0].params"),
        ([{"custom_id": "a", "params": {**PARAMS, "stream": True}}], "requests[0].params.stream"),
    ],
)
def test_a_batch_of_messages_that_does_not_fit_is_refused(
    http: FlaskClient, services: AppServices, requests: list[Any], param: str
) -> None:
    answer = http.post("/v1/messages/batches", json={"requests": requests})
    assert (answer.status_code, answer.json["type"]) == (400, "error")
    assert answer.json["error"]["param"] == param
    assert services[BatchStore].active() == []


def test_the_requests_of_a_batch_count_for_the_quota_of_files(http: FlaskClient) -> None:
    line = {"custom_id": "a", "params": {**PARAMS, "system": "x" * 10_000}}
    answer = http.post("/v1/messages/batches", json={"requests": [line]})
    assert (answer.status_code, answer.json["error"]["code"]) == (409, "file_quota_exceeded")
    assert http.get("/v1/messages/batches/msgbatch_x/results").status_code == 404


# ---- the job of a line


def record(key: str = digest_of(KEY)) -> BatchRecord:
    return BatchRecord(CHAT, 0, 1, key)


def line_of(**fields: Any) -> Line:
    return Line(1, "a", parsed(jsonl(chat_line("a", "x", "demo", **fields)))[0]["body"])


def test_a_line_becomes_the_job_that_the_request_would_be(services: AppServices) -> None:
    caller = caller_of(services, "one", record())
    job = make_line_job(services, caller, CHAT, line_of(max_tokens=7), "ab" * 16, created_at=5)
    assert isinstance(job, Job)
    assert (job.id, job.tenant, job.priority, job.weight) == (f"chatcmpl-{'ab' * 16}", "one", "low", 2.0)
    assert job.key == f"key_config_{digest_of(KEY)[:12]}"
    assert job.store
    assert job.subscriber is None
    assert job.limits is not None
    assert job.limits.rate_limit is None
    assert orjson.loads(job.echo)["at"] == 5
    assert b'"max_tokens":7' in job.generation.replace(b" ", b"")


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"max_tokens": -2}, "invalid_request", "max_tokens"),
        ({"model": "unknown"}, "unknown_model", "model"),
        ({"messages": []}, "invalid_request", "messages"),
        ({"n": 2}, "unsupported_parameter", "n"),
    ],
)
def test_a_wrong_line_is_refused_as_the_request_would_be(
    services: AppServices, fields: dict[str, Any], code: str, param: str
) -> None:
    line = Line(1, "a", line_of().body | fields)
    with pytest.raises(StokerError) as caught:
        make_line_job(services, caller_of(services, "one", record()), CHAT, line, "ab", created_at=5)
    assert (caught.value.code, caught.value.param) == (code, param)
    assert isinstance(caught.value, UnknownModel) == (code == "unknown_model")


def test_a_line_is_refused_when_it_continues_a_response(services: AppServices) -> None:
    line = Line(1, "a", {"model": "demo", "input": "x", "previous_response_id": "resp_1"})
    with pytest.raises(StokerError) as caught:
        make_line_job(
            services, caller_of(services, "one", record()), "/v1/responses", line, "ab", created_at=5
        )
    assert (caught.value.code, caught.value.param) == ("unsupported_parameter", "previous_response_id")


def test_the_documents_of_a_line_are_read_apart_from_joined_job(services: AppServices) -> None:
    file = {"filename": "a.pdf", "file_data": data_url_of(pdf("The text of it."))}
    messages = [{"role": "user", "content": [{"type": "file", "file": file}]}]
    line = Line(1, "a", line_of().body | {"messages": messages})
    made = make_line_job(services, caller_of(services, "one", record()), CHAT, line, "ab", created_at=5)
    assert isinstance(made, UnreadJob)
    assert (made.job.id, made.job.store) == ("chatcmpl-ab", True)
    whole = replace_generation(made.job, made.read().result(scaled(20)))
    assert b"The text of it." in whole.generation


def test_a_line_of_embeddings_is_answered_with_its_vectors(services: AppServices) -> None:
    line = Line(1, "a", {"model": "vectors", "input": "x", "encoding_format": "float"})
    job = make_line_job(
        services, caller_of(services, "one", record()), "/v1/embeddings", line, "ab", created_at=5
    )
    assert isinstance(job, Job)
    assert b'"inputs":["x"]' in job.generation
    row = JobRow(job.id, "one", "vectors", job.dialect, Status.COMPLETED, job.echo, job.store, 5.0)
    events = [VectorDelta.of(0, struct.pack("<2f", 0.5, -0.25)), End("completed", "stop", usage=Usage(7))]
    answer = answer_of(embeddings, row, events)
    assert answer.error is None
    body = orjson.loads(orjson.dumps(answer.body, default=json_form))
    assert body["data"] == [{"object": "embedding", "index": 0, "embedding": [0.5, -0.25]}]
    assert list(answer.usage) == [7, 0, 0, 0]


def test_a_line_runs_with_the_rights_of_the_key_as_they_are_now(services: AppServices) -> None:
    for tenant, key in (("one", "0" * 64), ("gone", digest_of(KEY)), ("two", digest_of(KEY))):
        with pytest.raises(InvalidApiKey):
            caller_of(services, tenant, record(key))
    caller = caller_of(services, "one", record())
    limited = replace(caller, key=replace(caller.key, models=frozenset({"other"})))
    with pytest.raises(Forbidden) as caught:
        make_line_job(services, limited, CHAT, line_of(), "ab", created_at=5)
    assert caught.value.code == "model_not_allowed"
