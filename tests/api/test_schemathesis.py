"""Requests that Schemathesis generates from the OpenAPI document get the responses that it declares."""

from __future__ import annotations

import re

import hypothesis
import pytest
import schemathesis
from flask import Flask
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import tasks.definitions
from api.app import create_app
from config.settings import Settings
from tests.api.conftest import ADMIN_KEY, make_services
from tests.support.api_fakes import Fakes

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.mark.rule("docs/documentation")
def test_every_response_is_declared_in_the_document(
    shared_settings: Settings, fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = make_services(shared_settings, fakes, with_redis=True)  # which has the tenants and keys
    services.start()
    app = create_app(shared_settings, services)
    monkeypatch.setattr(tasks.definitions, "notify_workers", lambda _: None)
    fakes.fleet.reads_until_end = 1  # otherwise `Prefer: wait=N` waits for N seconds, up to ten minutes
    schema = schemathesis.openapi.from_wsgi("/openapi.json", app)
    operations = [result.ok() for result in schema.get_all_operations()]
    assert len(operations) >= 14
    # its stream does not end without `follow=false`
    operations = [operation for operation in operations if operation.path != "/v1/admin/events"]
    for operation in operations:
        send_generated_requests(operation)
    services.stop()


CROSS_REFERENCES = ("tool_choice", "image_url")
"""The ends of `param` for what JSON Schema cannot express: a choice among the tools, a readable image."""


@pytest.mark.parametrize(
    ("path", "examples"),
    [("/v1/responses", 25), ("/v1/chat/completions", 25), ("/v1/admin/models/{name}/load", 15)],
)
def test_a_request_that_fits_the_document_is_not_refused_as_invalid(
    app: Flask, fakes: Fakes, monkeypatch: pytest.MonkeyPatch, path: str, examples: int
) -> None:
    monkeypatch.setattr(tasks.definitions, "notify_workers", lambda _: None)
    fakes.fleet.reads_until_end = 1
    operation = schemathesis.openapi.from_wsgi("/openapi.json", app)[path]["POST"]

    @hypothesis.settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        database=None,
    )
    @hypothesis.given(case=operation.as_strategy())
    def send(case: schemathesis.Case) -> None:
        answer = case.call(headers={"x-api-key": ADMIN_KEY})
        if answer.status_code in (400, 422):
            error = answer.json()["error"]
            assert re.search(rf"({'|'.join(CROSS_REFERENCES)})(\.url)?$", error["param"] or ""), error

    send()


def send_generated_requests(operation: schemathesis.APIOperation) -> None:
    """Send requests that fit the operation's schema, and requests that do not."""

    @hypothesis.settings(
        max_examples=8, deadline=None, suppress_health_check=list(hypothesis.HealthCheck), database=None
    )
    @hypothesis.given(
        case=operation.as_strategy() | operation.as_strategy(schemathesis.GenerationMode.NEGATIVE)
    )
    def send(case: schemathesis.Case) -> None:
        case.call_and_validate(headers={"x-api-key": ADMIN_KEY}, checks=CHECKS)

    send()
