"""The Celery app: its configuration survives a broken broker, and its import reads and loads little."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery
from celery.contrib.testing.worker import start_worker
from redis.crc import key_slot

from config.errors import ConfigError
from config.settings import ROOT, RedisSettings, Settings
from scheduler import LUA
from store.scripts import ScriptCommands
from tasks.app import configuration, control_queue, create_app, key_prefix, queues, transport_url
from tasks.definitions import load, unload
from tasks.transport import Channel
from tests.support.waiting import scaled


def test_an_import_of_the_tasks_loads_no_runtime_and_no_worker() -> None:
    """The API imports the tasks for their signatures."""
    program = (
        "import sys, tasks.app, tasks.definitions, generation.generation, tasks.worker_interface\n"
        "heavy = {'torch', 'numpy', 'vllm', 'xllamacpp', 'pynvml', 'flask', 'workers', 'api', 'stoker'}\n"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_an_import_of_the_app_reads_no_settings(tmp_path: Path) -> None:
    broken = tmp_path / "settings.json"
    broken.write_text("no json")
    environment = {**os.environ, "STOKER_SETTINGS": str(broken)}
    program = "import tasks.app, tasks.definitions\nprint('imported')\nprint(tasks.app.app.conf.broker_url)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "imported\n"
    assert "ConfigError" in done.stderr, "the first use of the configuration reads it"


def test_threads_that_use_an_app_first_at_the_same_time_find_its_whole_configuration(
    settings: Settings,
) -> None:
    """Two loads may be the first two requests of an API process."""
    reading, finish = threading.Event(), threading.Event()

    def read_settings() -> Settings:
        reading.set()
        finish.wait(scaled(10))
        return settings

    celery = create_app(read_settings)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lambda: celery.conf.broker_url)
        assert reading.wait(scaled(10))
        second = pool.submit(lambda: celery.conf.broker_url)
        wait([second], timeout=0.2)
        finish.set()
        assert first.result() == second.result() == transport_url(settings.redis.url)


def test_an_app_reads_its_settings_again_after_they_could_not_be_read(settings: Settings) -> None:
    answers = iter((ConfigError("not readable"), settings))

    def read_settings() -> Settings:
        answer = next(answers)
        if isinstance(answer, ConfigError):
            raise answer
        return answer

    celery = create_app(read_settings)
    with pytest.raises(ConfigError):
        _ = celery.conf.broker_url
    assert celery.conf.broker_url == transport_url(settings.redis.url)


def test_an_app_is_configured_from_its_settings_at_the_first_use(settings: Settings) -> None:
    reads = []

    def read_settings() -> Settings:
        reads.append(settings)
        return settings

    celery = create_app(read_settings)
    assert reads == []
    assert celery.conf.broker_url == transport_url(settings.redis.url)
    assert (celery.conf.imports, celery.conf.task_acks_late) == (("tasks.definitions",), False)
    assert len(reads) == 1


@pytest.mark.usefixtures("platform_app")
def test_the_tasks_have_the_names_that_messages_carry() -> None:
    assert [load.name, unload.name] == ["stoker.load", "stoker.unload"]


def test_a_message_is_acknowledged_before_it_runs_and_none_is_fetched_ahead(settings: Settings) -> None:
    """Each setting prevents a fault: ends of workers, tasks that run twice, workers that receive nothing."""
    configured = configuration(settings)
    assert configured["task_acks_late"] is False
    assert configured["worker_disable_prefetch"] is True
    assert configured["task_ignore_result"] is True
    assert configured["result_backend"] is None
    assert configured["broker_connection_max_retries"] is None
    assert configured["broker_transport_options"]["socket_timeout"]
    assert configured["broker_transport_options"]["health_check_interval"]
    assert configured["accept_content"] == ["json"]


def test_a_unix_socket_is_spelled_as_celery_wants_it() -> None:
    assert transport_url("unix:///run/redis.sock") == "redis+socket:///run/redis.sock"
    assert transport_url("redis://:secret@h:1/0") == "redis://:secret@h:1/0"
    assert transport_url("rediss://h:1/0") == "rediss://h:1/0"


def test_two_platforms_on_one_server_use_different_keys(settings: Settings) -> None:
    other = replace(settings, redis=RedisSettings(settings.redis.url, "other"))
    assert key_prefix(settings) != key_prefix(other)


def test_the_keys_of_celery_and_of_the_ledger_are_in_one_slot_of_a_cluster(settings: Settings) -> None:
    ledger_key = f"{ScriptCommands(settings.redis.prefix, LUA).prefix}fence"
    assert key_slot(f"{key_prefix(settings)}w1.control".encode()) == key_slot(ledger_key.encode())


def test_a_worker_consumes_its_control_queue_alone() -> None:
    assert [queue.name for queue in queues("w1")] == [control_queue("w1")] == ["w1.control"]


def test_a_channel_reuses_one_client(app: Celery, client: redis.Redis, settings: Settings) -> None:
    with app.connection_for_write() as connection:
        channel = connection.channel()
        assert isinstance(channel, Channel)
        with channel.conn_or_acquire() as first, channel.conn_or_acquire() as second:
            assert first is second
        for number in range(3):
            app.send_task("stoker.load", task_id=f"r{number}", queue="w1", connection=connection)
    assert client.llen(f"{key_prefix(settings)}w1") == 3


def test_a_worker_of_celery_runs_the_messages_of_its_control_queue_and_acknowledges_none(
    app: Celery, client: redis.Redis, settings: Settings, fake_worker: Any
) -> None:
    done = threading.Event()
    fake_worker.load = lambda _replica: done.set()
    app.conf.task_queues = queues("w1")
    with start_worker(app, pool="threads", concurrency=2, perform_ping_check=False, loglevel="error"):
        app.send_task("stoker.load", ("alpha#1.0",), queue=control_queue("w1"))
        assert done.wait(scaled(20))
    assert client.llen(f"{key_prefix(settings)}{control_queue('w1')}") == 0
    assert client.hlen(f"{key_prefix(settings)}unacked") == 0
