"""The heart, with the real ledger."""

from __future__ import annotations

import logging
import time
from dataclasses import replace

import pytest
import redis

from config.settings import ModelDefinition, Settings
from tests.workers.test_host import Seat
from workers.heart import Heart


def test_a_model_that_fits_no_worker_is_named_once_and_keeps_no_other_from_loading(
    settings: Settings, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.heart.ring", lambda _change: None)  # the beat hears it as well
    monkeypatch.setattr("workers.heart.LOOK_EVERY_S", 0.02)
    models = {
        "big": ModelDefinition("big", "stub", device="cuda", enabled=True),
        "small": ModelDefinition("small", "stub", enabled=True),
    }
    seat = Seat(replace(settings, models=models))
    heart = Heart(seat.host, seat.ledger, seat.fleet, redis.Redis.from_url(settings.redis.url))
    with caplog.at_level(logging.WARNING, "workers"):
        heart.start()
        seat.until(lambda: seat.fleet.row("small").state == "loaded")
        time.sleep(0.2)  # many looks later
        heart.stop()
    assert seat.fleet.row("big").state == "unloaded"
    told = [record.getMessage() for record in caplog.records if "big" in record.getMessage()]
    assert len(told) == 1
    assert told[0].startswith("big should be loaded and is not: no worker with a cuda device is running")
    seat.host.kill()
