"""Which sizes, qualities and numbers of images a model has, and what a request gets of them."""

from __future__ import annotations

from dataclasses import replace

from api.http.errors import InvalidRequest
from backends.catalogue import BACKENDS
from config.settings import ModelDefinition
from generation.media import ImageTask

DEFAULT_SIZE = (1024, 1024)
MAX_PIXELS = 64 * 1024 * 1024
STANDARD = ("auto", "standard", "medium")
"""Names of a quality that stand for the model's own number of steps, if the model has none of that name."""


def fitted(model: ModelDefinition, task: ImageTask) -> ImageTask:
    """The task with the size that it gets, and the steps of its quality. Raises `InvalidRequest`."""
    backend = BACKENDS[model.backend]
    options = backend.with_defaults(model.options)
    sizes = [_pixels(text) for text in options.get(backend.image_sizes_option or "") or ()]
    width, height = (task.width, task.height) if task.width else (sizes[0] if sizes else DEFAULT_SIZE)
    if sizes and (width, height) not in sizes:
        known = ", ".join(f"{one}x{other}" for one, other in sizes)
        raise InvalidRequest(f"model {model.name} makes images of these sizes only: {known}", param="size")
    if width * height > MAX_PIXELS:
        raise InvalidRequest(f"an image may have at most {MAX_PIXELS} pixels", param="size")
    most = options.get(backend.image_count_option or "")
    if most is not None and task.count > most:
        raise InvalidRequest(f"model {model.name} makes at most {most} images for a request", param="n")
    steps = task.steps
    if task.quality is not None:
        qualities = options.get(backend.image_quality_option or "") or {}
        if task.quality not in qualities and task.quality not in STANDARD:
            known = ", ".join(qualities) or "auto"
            raise InvalidRequest(f"model {model.name} has these qualities only: {known}", param="quality")
        steps = steps or qualities.get(task.quality)
    return replace(task, width=width, height=height, steps=steps)


def _pixels(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    return int(width), int(height)
