"""Ended jobs are counted once: in the counters of /metrics, in the usage of the day, and in the bytes."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
import redis

from config.settings import Settings
from scheduler.job import Status
from scheduler.usage import MAX_KEY_ROWS
from store.errors import StorageUnavailable
from streams.events import End, Usage, decode
from tests.support.simulated_platform import SimulatedPlatform


@pytest.fixture
def platform(client: redis.Redis, settings: Settings) -> SimulatedPlatform:
    """One worker and one model with two slots."""
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load()
    return platform


def values(platform: SimulatedPlatform, key: str) -> dict[str, str]:
    flat = platform.client.hgetall(platform.prefix + key)
    return {name.decode(): value.decode() for name, value in flat.items()}  # type: ignore[union-attr]


def pending(platform: SimulatedPlatform) -> int:
    return int(platform.client.xlen(f"{platform.prefix}ended"))  # type: ignore[arg-type]


def usage_of(platform: SimulatedPlatform, field: str) -> str:
    """Return the usage of that tenant and model, of the only day with any."""
    (key,) = platform.client.keys(f"{platform.prefix}usage:*")
    return values(platform, key.decode().removeprefix(platform.prefix))[field]


def serve(platform: SimulatedPlatform, usage: Usage, run_s: float, **release: object) -> None:
    """Run a job of `acme` for some seconds."""
    claim = platform.run(platform.admit())
    platform.advance_time(run_s)
    platform.release(claim, usage=usage.encode(), tokens=usage.units, **release)  # type: ignore[arg-type]


def test_a_usage_without_tokens_is_reported_and_counts_for_nothing(platform: SimulatedPlatform) -> None:
    claim = platform.run(platform.admit())
    platform.release(claim, usage=Usage(100).encode(), tokens=None, first_ms=3)
    entries: list[Any] = platform.client.xrange(f"{platform.prefix}ended")  # type: ignore[assignment]
    assert b"input_tokens" not in entries[0][1][b"e"]
    (log,) = platform.client.keys(f"{platform.prefix}log:*")  # type: ignore[misc]
    events: list[Any] = platform.client.xrange(log)  # type: ignore[assignment]
    end = decode(events[-1][1][b"e"])
    assert isinstance(end, End)
    assert (end.usage, end.first_ms) == (Usage(100), 3)


def test_an_end_counts_in_the_usage_and_the_counters_when_the_reaper_runs(
    platform: SimulatedPlatform,
) -> None:
    serve(platform, Usage(100, 101, 60), 40.0, finish_reason="stop", first_ms=500)
    serve(platform, Usage(), 15.0, status=Status.FAILED, code="engine_error")
    assert pending(platform) == 2
    platform.ledger.heartbeat("w1", platform.incarnations["w1"])
    assert "requests alpha acme completed" not in values(platform, "counters")
    platform.expire()
    assert pending(platform) == 0
    *counts, queue_us, run_us = map(int, usage_of(platform, "acme alpha").split(" "))
    assert counts == [2, 1, 100, 101, 60]
    assert 55 <= run_us / 1e6 < 65
    assert queue_us < 1e6
    counters = values(platform, "counters")
    assert float(counters.pop("cache_hits alpha").split(" ")[0]) == 60
    numbers = {name: int(value) for name, value in counters.items() if not name.startswith("operation")}
    assert 55 <= numbers.pop("run_time alpha sum") / 1e6 < 65
    assert 0.5 <= numbers.pop("first_output alpha sum") / 1e6 < 1.0
    assert 0.395 <= numbers.pop("token_time alpha sum") / 1e6 < 0.495
    numbers.pop("queue_wait alpha normal sum", None)
    assert numbers == {
        "requests alpha acme completed": 1,
        "requests alpha acme failed": 1,
        "input_tokens alpha acme": 100,
        "output_tokens alpha acme": 101,
        "cached_tokens alpha acme": 60,
        "failures alpha engine_error": 1,
        "finishes alpha stop": 1,
        "queue_wait alpha normal 1": 2,
        "tenant_queue_wait acme 1": 2,
        "tenant_first_output acme 6": 1,
        "tenant_errors acme engine_error": 1,
        "run_time alpha 10": 1,  # more than 30 s, up to 60 s
        "run_time alpha 9": 1,
        "first_output alpha 6": 1,
        "token_time alpha 11": 1,
    }


def test_sounds_and_pictures_of_ended_jobs_are_counted_beside_tokens(platform: SimulatedPlatform) -> None:
    serve(platform, Usage(audio_ms=61_500), 2.0)
    serve(platform, Usage(images=2, pixel_steps=3_000_000), 2.0)
    serve(platform, Usage(5, 6), 1.0)
    platform.expire()
    *_, audio_ms, images, pixel_steps = map(int, usage_of(platform, "acme alpha").split(" "))
    assert (audio_ms, images, pixel_steps) == (61_500, 2, 3_000_000)
    counters = values(platform, "counters")
    assert counters["audio_ms alpha acme"] == "61500"
    assert counters["images alpha acme"] == "2"
    assert counters["pixel_steps alpha acme"] == "3000000"
    assert 2 <= int(counters["audio_run_us alpha"]) / 1e6 < 3


def test_a_job_that_ends_in_the_queue_counts_without_a_run(platform: SimulatedPlatform) -> None:
    for _ in range(2):
        platform.admit("other")
    waiting = platform.admit(priority="low")
    platform.advance_time(30)
    platform.ledger.cancel(waiting, "acme")
    platform.expire()
    counters = values(platform, "counters")
    assert counters["requests alpha acme cancelled"] == "1"
    assert int(counters["queue_wait alpha low sum"]) >= 30_000_000
    assert not [name for name in counters if name.startswith("run_time")]
    assert usage_of(platform, "acme alpha").startswith("1 0 0 0 0 3")


def test_the_time_to_the_first_output_begins_at_the_admission(platform: SimulatedPlatform) -> None:
    blockers = [platform.run(platform.admit("other")) for _ in range(2)]
    waiting = platform.admit()
    platform.advance_time(4)
    platform.release(blockers[0])
    platform.release(platform.run(waiting), first_ms=300)
    platform.expire()
    assert 4.3 <= int(values(platform, "counters")["first_output alpha sum"]) / 1e6 < 60


def test_a_call_counts_250_jobs_and_asks_for_more(platform: SimulatedPlatform) -> None:
    line = "acme alpha normal completed - stop 1 5 7 - 1 {}"
    with platform.client.pipeline(transaction=False) as pipeline:
        for _ in range(600):
            pipeline.xadd(f"{platform.prefix}ended", {"e": line})
        pipeline.execute()
    assert [platform.fleet.registry.expire().more for _ in range(3)] == [True, True, False]
    assert values(platform, "counters")["requests alpha acme completed"] == "600"
    assert values(platform, "bytes") == {"acme": "600", "@all": "600"}
    assert not platform.client.exists(f"{platform.prefix}ended")


def test_entries_of_ended_jobs_need_less_memory_than_the_jobs_when_no_reaper_runs(
    platform: SimulatedPlatform,
) -> None:
    usage = Usage(1000, 211, 400)
    for _ in range(100):
        serve(platform, usage, 0.0, finish_reason="stop", first_ms=120, log_bytes=20)
    keys = [key for word in ("job", "log") for key in platform.client.keys(f"{platform.prefix}{word}:*")]
    of_jobs = sum(platform.client.memory_usage(key) or 0 for key in keys)
    of_entries = platform.client.memory_usage(f"{platform.prefix}ended", samples=0) or 0
    assert pending(platform) == 100
    assert of_entries / 100 < 300, of_entries
    assert of_entries < of_jobs / 3


def test_an_entry_counts_once_when_the_reply_is_lost(
    platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(platform, Usage(3, 4), 0.1)
    exchange = platform.fleet.scripts.exchange

    def lose(commands: object) -> object:
        exchange(commands)  # type: ignore[arg-type]
        raise ConnectionError

    monkeypatch.setattr(platform.fleet.scripts, "exchange", lose)
    with pytest.raises(StorageUnavailable):
        platform.fleet.registry.expire()
    monkeypatch.undo()
    platform.expire()
    assert values(platform, "counters")["requests alpha acme completed"] == "1"


def test_an_entry_that_cannot_be_read_stops_nothing(platform: SimulatedPlatform) -> None:
    platform.client.xadd(f"{platform.prefix}ended", {"e": "of another version"})
    serve(platform, Usage(3, 4), 0.1)
    platform.expire()
    counters = values(platform, "counters")
    assert (counters["unreadable_ends"], counters["requests alpha acme completed"]) == ("1", "1")


def test_usage_is_that_of_the_day_of_the_end_and_is_kept_for_400_days(platform: SimulatedPlatform) -> None:
    for day in (20_000, 20_000, 20_001):
        line = 'acme alpha normal completed - stop 1 5 7 - 1 {"input_tokens":4,"output_tokens":2}'
        platform.client.xadd(f"{platform.prefix}ended", {"e": line}, id=f"{day * 86_400_000}-*")
        platform.expire()
    assert values(platform, "usage:20000") == {"acme alpha": "2 2 8 4 0 10 14"}
    assert values(platform, "usage:20001") == {"acme alpha": "1 1 4 2 0 5 7"}
    assert platform.client.ttl(f"{platform.prefix}usage:20000") == 400 * 86_400


def test_the_usage_of_a_tenant_is_counted_by_model_and_key_and_is_kept_for_100_days(
    platform: SimulatedPlatform,
) -> None:
    for key in ("key_a", "key_b", "key_a", ""):
        claim = platform.run(platform.admit(key=key))
        platform.release(claim, usage=Usage(10, 5).encode(), tokens=15)
    platform.ledger.cancel(platform.admit(key="key_b"), "acme")  # while it runs
    waiting = platform.admit("other", key="key_c")
    platform.expire()
    assert platform.status(waiting) == "running"
    (key,) = platform.client.keys(f"{platform.prefix}key_usage:*:acme")
    rows = values(platform, key.decode().removeprefix(platform.prefix))
    counts = {field: line.split(" ")[:4] for field, line in rows.items()}
    assert counts == {
        "alpha key_a": ["2", "2", "20", "10"],
        "alpha key_b": ["1", "1", "10", "5"],
        "alpha -": ["1", "1", "10", "5"],
    }
    assert platform.client.ttl(key) == 100 * 86_400
    assert not platform.client.keys(f"{platform.prefix}key_usage:*:other")


def test_more_models_and_keys_than_the_bound_are_counted_together(platform: SimulatedPlatform) -> None:
    def end(*keys: str) -> None:
        for key in keys:
            line = 'acme alpha normal completed - stop 1 5 7 - 1 {"input_tokens":4,"output_tokens":2}'
            fields = {"e": line, "r": "", "k": key}
            platform.client.xadd(f"{platform.prefix}ended", fields, id=f"{20_000 * 86_400_000}-*")
        platform.expire()

    end(*(f"key_{number}" for number in range(MAX_KEY_ROWS)))
    end("key_a", "key_b", "key_0")
    end("key_b", "key_d")
    rows = values(platform, "key_usage:20000:acme")
    assert len(rows) == MAX_KEY_ROWS + 1
    assert rows["other other"] == "4 4 16 8 0 20 28"
    assert rows["alpha key_0"] == "2 2 8 4 0 10 14"
    assert values(platform, "usage:20000") == {"acme alpha": "505 505 2020 1010 0 2525 3535"}


def test_older_cache_hits_count_less(platform: SimulatedPlatform) -> None:
    serve(platform, Usage(100, 1, 100), 0.1)
    platform.expire()
    platform.advance_time(300)
    platform.fleet.registry.expire()
    platform.register()
    platform.load("beta")
    claim = platform.run(platform.admit(model="beta"))
    platform.release(claim, usage=orjson.dumps(Usage(100, 1, 0)), tokens=101)
    platform.client.xadd(
        f"{platform.prefix}ended",
        {"e": 'acme alpha normal completed - stop 1 5 7 - 1 {"input_tokens":50,"output_tokens":1}'},
    )
    platform.expire()
    cached, all_input, _ = values(platform, "counters")["cache_hits alpha"].split(" ")
    assert float(cached) == pytest.approx(50, rel=0.02)
    assert float(all_input) == pytest.approx(100, rel=0.02)
    assert values(platform, "counters")["cache_hits beta"].startswith("0.000 100.000 ")


def test_words_of_an_engine_with_blanks_do_not_break_the_entry(platform: SimulatedPlatform) -> None:
    serve(platform, Usage(1, 1), 0.1, finish_reason="because of\nthis", code="a b")
    platform.expire()
    assert values(platform, "counters")["requests alpha acme completed"] == "1"
