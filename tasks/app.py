"""The Celery app: a doorbell, not a ledger.

A message may be lost or come twice (Redis' BRPOP and the record of what was popped are two steps); the truth
about a request is in the scheduler's ledger, and a worker's heartbeat finds what no bell announced. So messages
are acknowledged early, no results are kept, and nothing but an id travels.
"""

from __future__ import annotations

from typing import Any

from celery import Celery
from kombu import Queue

from config.load import load_settings
from config.settings import Settings
from tasks import transport


def control_queue(worker: str) -> str:
    """The queue of a worker's loads and unloads, which must never wait behind generations."""
    return f"{worker}.control"


def key_prefix(settings: Settings) -> str:
    """What Celery's keys in Redis begin with."""
    return f"{settings.redis.prefix}.celery:"


def transport_url(url: str) -> str:
    """Celery's form of a Redis URL (a Unix socket is spelled differently)."""
    return url.replace("unix://", "redis+socket://", 1)


def configuration(settings: Settings) -> dict[str, Any]:
    """The settings that survived the fault table: early acks, no prefetch, a socket timeout."""
    return {
        "broker_url": transport_url(settings.redis.url),
        "broker_transport_options": {
            # without a timeout a half-open connection silences a worker for good
            "socket_timeout": 5,
            "socket_connect_timeout": 3,
            "socket_keepalive": True,
            "health_check_interval": 5,
            "visibility_timeout": 3600,
            "global_keyprefix": key_prefix(settings),
        },
        "broker_connection_max_retries": None,
        "broker_connection_retry_on_startup": True,
        # late acks and a Redis restart make a worker of Celery 5.7.0 exit, and all its models with it
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
        # cancelling on a lost connection is for pools that can kill; a GPU computes without the broker
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "imports": ("tasks.generate", "tasks.lifecycle"),
        "timezone": "UTC",
    }


def create_app(settings: Settings) -> Celery:
    """A Celery app for these settings."""
    transport.use()
    made = Celery("stoker", set_as_current=False)
    made.conf.update(configuration(settings))
    return made


def queues(worker: str) -> list[Queue]:
    """What a worker consumes."""
    return [
        Queue(worker, routing_key=worker),
        Queue(control_queue(worker), routing_key=control_queue(worker)),
    ]


app = create_app(load_settings())
app.set_default()
