"""The Celery app. Its messages notify workers of loads and unloads, whose state is in Redis (`fleet/`).

A message may be lost or delivered twice, since Redis' BRPOP and the record of the popped message are two
steps. A worker's heartbeat finds the replicas whose message was lost. So messages are acknowledged early, and
results are not stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from celery import Celery
from celery.loaders.app import AppLoader
from kombu import Queue

from config.load import load_settings
from config.settings import Settings
from tasks import transport


def control_queue(worker: str) -> str:
    """The queue of a worker's loads and unloads."""
    return f"{worker}.control"


def key_prefix(settings: Settings) -> str:
    """The prefix of Celery's keys in Redis, with the hash tag of the ledger's: one node has all keys."""
    return f"{{{settings.redis.prefix}}}.celery:"


def transport_url(url: str) -> str:
    """Celery's form of a Redis URL, which differs for a Unix socket."""
    return url.replace("unix://", "redis+socket://", 1)


def configuration(settings: Settings) -> dict[str, Any]:
    """Celery's configuration for these settings: early acknowledgement, no prefetch, socket time-outs."""
    return {
        "broker_url": transport_url(settings.redis.url),
        "broker_transport_options": {
            # without a time-out, a worker with a half-open connection would never receive a message again
            "socket_timeout": 5,
            "socket_connect_timeout": 3,
            "socket_keepalive": True,
            "health_check_interval": 5,
            "visibility_timeout": 3600,
            "global_keyprefix": key_prefix(settings),
        },
        "broker_connection_max_retries": None,
        "broker_connection_retry_on_startup": True,
        # a refusal (READONLY, NOREPLICAS, UNBLOCKED at a failover) is a lost connection: it ends no worker
        "broker_channel_error_retry": True,
        # with late acknowledgement, a restart of Redis ends a worker of Celery 5.7.0, and its models with it
        "task_acks_late": False,
        "worker_disable_prefetch": True,
        "worker_prefetch_multiplier": 1,
        "task_ignore_result": True,
        "result_backend": None,
        "task_publish_retry": False,
        "task_default_queue": "unrouted",
        "task_create_missing_queues": True,
        "accept_content": ["json"],
        "task_serializer": "json",
        "worker_send_task_events": settings.worker.task_events,
        "task_send_sent_event": False,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        # cancelling on a lost connection requires a pool that can kill tasks; a GPU needs no broker to go on
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "imports": ("tasks.definitions",),
        "timezone": "UTC",
    }


def create_app(read_settings: Callable[[], Settings]) -> Celery:
    """A Celery app that calls `read_settings` when its configuration is first used, in any thread.

    The loader provides the configuration. Celery applies what `add_defaults` promises only after it has
    published a configuration without it, which another thread would take for the whole one.
    """
    transport.register()

    class SettingsLoader(AppLoader):
        def read_configuration(self, env: str = "") -> dict[str, Any]:  # noqa: ARG002 - no variable is read
            return configuration(read_settings())

    return Celery("stoker", set_as_current=False, loader=SettingsLoader)


def queues(worker: str) -> list[Queue]:
    """The queues that a worker consumes."""
    return [Queue(control_queue(worker), routing_key=control_queue(worker))]


app = create_app(load_settings)
app.set_default()
