"""The wake-up message of a job: the Celery message that the scheduler's scripts push to a worker's queue.

Publishing through Celery takes three to six times as long as the whole admission, and could not be part of
its transaction. So a worker registers with the Redis list of its queue and a message that Celery's own code
made, with a placeholder for the id. `tests/tasks/test_wake_up.py` compares it with the message that Celery
sends.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from celery import Celery
from kombu.serialization import dumps
from kombu.utils.encoding import bytes_to_str

from config.settings import Settings
from tasks.app import key_prefix

PLACEHOLDER = "@ID@"


@dataclass(frozen=True, slots=True)
class WakeUpMessage:
    """`message` has PLACEHOLDER in place of the id; it is pushed to the Redis list `key`."""

    key: str
    message: str


def wake_up_message(app: Celery, settings: Settings, task: str, queue: str) -> WakeUpMessage:
    """Make the message that starts the task `task`, without arguments, on a worker that consumes `queue`."""
    message = app.amqp.as_task_v2(PLACEHOLDER, task, args=(), kwargs={}, ignore_result=True)
    content_type, content_encoding, body = dumps(message.body, serializer="json")
    channel: Any = app.connection_for_write().channel()
    try:
        encoded, encoding = channel.encode_body(bytes_to_str(body), channel.body_encoding)
    finally:
        channel.close()
    envelope = {
        "body": encoded,
        "content-encoding": content_encoding,
        "content-type": content_type,
        "headers": {**message.headers, "ignore_result": True},
        "properties": {
            **message.properties,
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": queue},
            "priority": 0,
            "body_encoding": encoding,
            "delivery_tag": PLACEHOLDER,
        },
    }
    return WakeUpMessage(f"{key_prefix(settings)}{queue}", json.dumps(envelope))
