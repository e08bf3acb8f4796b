"""What Schemathesis makes of the OpenAPI document."""

from __future__ import annotations

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

import tasks.lifecycle
from tests.api.conftest import ADMIN_KEY

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.mark.rule("docs/documentation")
def test_nothing_is_answered_that_is_not_declared(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks.lifecycle, "ring", lambda _: None)
    schema = schemathesis.openapi.from_wsgi("/openapi.json", app)
    operations = [result.ok() for result in schema.get_all_operations()]
    assert len(operations) >= 14
    # one that ends; that it does not without `follow=false` is its use
    operations = [operation for operation in operations if operation.path != "/v1/admin/events"]
    for operation in operations:
        attack(operation)


def attack(operation: schemathesis.APIOperation) -> None:
    """Send an operation what its document allows, with and without an error in it."""

    @hypothesis.settings(
        max_examples=8, deadline=None, suppress_health_check=list(hypothesis.HealthCheck), database=None
    )
    @hypothesis.given(
        case=operation.as_strategy() | operation.as_strategy(schemathesis.GenerationMode.NEGATIVE)
    )
    def send(case: schemathesis.Case) -> None:
        case.call_and_validate(headers={"x-api-key": ADMIN_KEY}, checks=CHECKS)

    send()
