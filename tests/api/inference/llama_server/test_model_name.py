"""Requests that name no model, as those of llama-server's clients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient

from config.settings import Settings
from generation.generation import Generation
from tests.support.api_fakes import Fakes


@pytest.fixture
def settings(settings: Settings) -> Any:
    """Settings with one model."""
    return replace(settings, models={"gguf": settings.models["gguf"]})


@pytest.mark.parametrize("model", [{}, {"model": None}, {"model": ""}])
@pytest.mark.parametrize(
    ("path", "body"),
    [("/completion", {"prompt": "a"}), ("/infill", {"input_prefix": "a", "input_suffix": "b"})],
)
def test_request_without_a_model_means_the_only_one(
    http: FlaskClient, fakes: Fakes, path: str, body: dict[str, Any], model: dict[str, Any]
) -> None:
    answer = http.post(path, json=body | model)
    assert answer.status_code == 200, answer.get_json()
    assert Generation.from_json(fakes.ledger.only().generation).model == "gguf"
