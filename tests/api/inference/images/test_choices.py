"""Sizes, qualities and numbers of images, by the options of a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient

from api.http.errors import InvalidRequest
from api.inference.dialects.base import ParsedRequest
from api.inference.images.choices import fitted
from api.inference.make_job import replace_generation
from config.settings import ModelDefinition, Settings
from generation.generation import Generation
from generation.media import ImageTask
from streams.events import End
from tests.support.api_fakes import Fakes

OPTIONS: dict[str, Any] = {
    "comfyui_sizes": ["512x512", "512x768"],
    "comfyui_quality": {"low": 4},
    "comfyui_max_images": 2,
}
PAINTER = ModelDefinition("painter", "comfyui", options=OPTIONS)


def test_an_image_without_a_size_has_the_first_one_of_its_model() -> None:
    task = fitted(PAINTER, ImageTask("a cat", 0, 0))
    assert (task.width, task.height, task.steps) == (512, 512, None)
    assert fitted(ModelDefinition("m", "stub"), ImageTask("a cat", 0, 0)).width == 1024


def test_a_quality_is_its_number_of_steps_unless_the_request_has_one() -> None:
    assert fitted(PAINTER, ImageTask("a cat", 0, 0, quality="low")).steps == 4
    assert fitted(PAINTER, ImageTask("a cat", 0, 0, quality="low", steps=9)).steps == 9
    assert fitted(PAINTER, ImageTask("a cat", 0, 0, quality="auto")).steps is None


@pytest.mark.parametrize(
    ("changes", "param", "sentence"),
    [
        ({"width": 64, "height": 64}, "size", "512x512, 512x768"),
        ({"count": 3}, "n", "at most 2 images"),
        ({"quality": "high"}, "quality", "these qualities only: low"),
    ],
)
def test_a_value_beyond_the_model_is_refused_with_those_that_it_has(
    changes: dict[str, Any], param: str, sentence: str
) -> None:
    with pytest.raises(InvalidRequest, match=sentence) as refused:
        fitted(PAINTER, replace(ImageTask("a cat", 0, 0), **changes))
    assert refused.value.param == param


@pytest.fixture
def settings(settings: Settings) -> Settings:
    painter = ModelDefinition("painter", "stub", options={"stub_media": "image"})
    return replace(settings, models={**settings.models, "painter": painter})


def test_a_request_that_is_checked_later_keeps_the_size_it_was_given(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [End("failed", code="engine_error", message="no")]
    http.post("/v1/images/generations", json={"model": "painter", "prompt": "a cat"})
    job = fakes.ledger.only()
    made = Generation.from_json(job.generation)
    task = fitted(PAINTER, ImageTask("a cat", 0, 0, quality="low"))
    replaced = replace_generation(job, ParsedRequest(replace(made, media=task)))
    media = Generation.from_json(replaced.generation).media
    assert isinstance(media, ImageTask)
    assert (media.width, media.steps, media.folder) == (512, 4, getattr(made.media, "folder", None))
    assert replaced.cost == task.estimated_units
