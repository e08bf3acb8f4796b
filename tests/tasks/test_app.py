"""The Celery app is a doorbell: settings that survive a broken broker, and no runtime behind the import."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import redis
from celery import Celery

from config.settings import ROOT, RedisSettings, Settings
from tasks.app import configuration, control_queue, key_prefix, queues, transport_url
from tasks.transport import Channel


def test_importing_the_tasks_needs_no_runtime() -> None:
    """The API has real task signatures and never loads what a worker needs."""
    program = (
        "import sys, tasks.app, tasks.wake_up, tasks.worker_interface, tasks.generate, tasks.lifecycle, tasks.generation\n"
        "heavy = {'torch', 'numpy', 'vllm', 'xllamacpp', 'pynvml', 'flask', 'workers', 'api', 'stoker'}\n"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_message_is_acknowledged_before_it_runs_and_none_is_fetched_ahead(settings: Settings) -> None:
    """Each of these is a row of a fault table: worker deaths, double bodies, deaf workers."""
    made = configuration(settings)
    assert made["task_acks_late"] is False
    assert made["worker_disable_prefetch"] is True
    assert made["task_ignore_result"] is True
    assert made["result_backend"] is None
    assert made["broker_connection_max_retries"] is None
    assert made["broker_transport_options"]["socket_timeout"]
    assert made["broker_transport_options"]["health_check_interval"]
    assert made["accept_content"] == ["json"]


def test_a_unix_socket_is_spelled_as_celery_wants_it() -> None:
    assert transport_url("unix:///run/redis.sock") == "redis+socket:///run/redis.sock"
    assert transport_url("redis://:secret@h:1/0") == "redis://:secret@h:1/0"
    assert transport_url("rediss://h:1/0") == "rediss://h:1/0"


def test_two_platforms_on_one_server_do_not_hear_each_other(settings: Settings) -> None:
    other = replace(settings, redis=RedisSettings(settings.redis.url, "other"))
    assert key_prefix(settings) != key_prefix(other)


def test_loads_have_a_queue_of_their_own() -> None:
    assert [queue.name for queue in queues("w1")] == ["w1", control_queue("w1")] == ["w1", "w1.control"]


def test_a_channel_keeps_one_client(app: Celery, client: redis.Redis, settings: Settings) -> None:
    with app.connection_for_write() as connection:
        channel = connection.channel()
        assert isinstance(channel, Channel)
        with channel.conn_or_acquire() as first, channel.conn_or_acquire() as second:
            assert first is second
        for number in range(3):
            app.send_task("stoker.generate", task_id=f"r{number}", queue="w1", connection=connection)
    assert client.llen(f"{key_prefix(settings)}w1") == 3
