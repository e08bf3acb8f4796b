"""Tenants share a model of audio or images by what was processed, not by requests or bytes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import cycle

import pytest
import redis

from config.settings import Settings
from generation.media import AudioTask, ImageTask, MediaTask
from streams.events import Usage
from tests.support.simulated_platform import SimulatedPlatform

WEIGHTS = {"one": 1, "three": 3}
DISPATCHES = 300

Request = tuple[MediaTask, Usage]
"""A request as the admission sees it, and what was processed in the end."""


def recording(seconds: float, bytes_per_s: int) -> Request:
    task = AudioTask("transcribe", "in-0", int(seconds * bytes_per_s))
    return task, Usage(audio_ms=int(seconds * 1000))


def image(side: int, steps: int | None, steps_done: int) -> Request:
    task = ImageTask("a square", side, side, steps=steps)
    return task, Usage(images=1, pixel_steps=side * side * steps_done)


LOADS = {
    "recordings of one length": {
        "one": [recording(30, 16_000)],
        "three": [recording(30, 16_000)],
    },
    "short and long recordings": {
        "one": [recording(5, 32_000), recording(90, 32_000)],
        "three": [recording(20, 32_000)],
    },
    # for the admission the first has 16 times as many seconds as the second
    "raw and compressed recordings": {
        "one": [recording(30, 64_000)],
        "three": [recording(30, 4_000)],
    },
    "images of two sizes": {
        "one": [image(512, 20, 20)],
        "three": [image(1024, 20, 20)],
    },
    # without a number of steps the admission counts 20; a cancelled image has made fewer than it asked for
    "images with fewer steps than estimated": {
        "one": [image(1024, None, 4), image(1024, 50, 10)],
        "three": [image(1024, 20, 20)],
    },
}


@pytest.mark.parametrize("requests", LOADS.values(), ids=LOADS)
def test_two_tenants_get_seconds_and_pixels_by_their_weights(
    client: redis.Redis, settings: Settings, requests: dict[str, list[Request]]
) -> None:
    queue = replace(settings.queue, max_depth=9999, max_depth_per_tenant=999)
    platform = SimulatedPlatform(client, replace(settings, queue=queue))
    platform.register()
    platform.load(slots=1)
    more = {tenant: cycle(requests[tenant]) for tenant in WEIGHTS}
    jobs: dict[str, tuple[str, Usage]] = {}

    def admit(tenant: str) -> None:
        task, usage = next(more[tenant])
        jobs[platform.admit(tenant, weight=WEIGHTS[tenant], cost=task.estimated_units)] = tenant, usage

    for tenant in WEIGHTS:
        for _ in range(3):
            admit(tenant)
    processed: Counter[str] = Counter()
    for _ in range(DISPATCHES):  # each tenant always has jobs that wait
        claim = platform.next_claim()
        assert claim
        tenant, usage = jobs[claim.id]
        admit(tenant)
        processed[tenant] += usage.audio_ms + usage.pixel_steps
        platform.advance_time(1)
        platform.release(claim, usage=usage.encode(), tokens=usage.units)
    assert processed["three"] / processed["one"] == pytest.approx(3, rel=0.1)
