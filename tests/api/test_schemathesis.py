"""Requests that Schemathesis generates from the OpenAPI document are not refused as invalid.

`tests/journeys/test_schema.py` checks the responses of all routes, on a running platform.
"""

from __future__ import annotations

import re

import hypothesis
import pytest
import schemathesis
from flask import Flask

import tasks.definitions
from tests.api.conftest import ADMIN_KEY
from tests.support.api_fakes import Fakes

pytestmark = pytest.mark.slow

CROSS_REFERENCES = (
    *("tool_choice", "function_call", "image_url", r"input_audio\.data", "file_data", "encrypted_content"),
    "model",
)
"""The ends of `param` for what JSON Schema cannot express: a choice among the tools, a readable image, file,
recording or summary, and the model, which a request may leave out where there is only one."""

SCHEMAS = r"\.(schema|parameters)(\b|$)|^(guided_json|json_schema|structured_outputs\.json)\b|^grammar$"
"""A part of `param` in a schema or grammar that a client sends, which an answer has to fit."""


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
        phases=(hypothesis.Phase.generate,),  # to make a request smaller takes longer than a test may take
    )
    @hypothesis.given(case=operation.as_strategy())
    def send(case: schemathesis.Case) -> None:
        answer = case.call(headers={"x-api-key": ADMIN_KEY})
        if answer.status_code in (400, 422):
            error = answer.json()["error"]
            assert re.search(rf"({'|'.join(CROSS_REFERENCES)})(\.url)?$|{SCHEMAS}", error["param"] or ""), (
                error
            )

    send()
