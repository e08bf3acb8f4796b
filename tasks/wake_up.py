"""The doorbell as Redis rings it: a Celery message in which only the id varies.

Publishing through Celery costs three to six times as much as the whole admission, and could not be one step
with it. So a worker gives the ledger its bell when it registers: the list its queue lives in, and a message
made by Celery's own code with a placeholder for the id. `tests/tasks/test_wake_up.py` holds it against what
Celery sends.
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
    """Where to push (`key`, a Redis list) and what (`message`, with PLACEHOLDER for the id)."""

    key: str
    message: str


def wake_up_message(app: Celery, settings: Settings, task: str, queue: str) -> WakeUpMessage:
    """The bell of one queue for a task without arguments."""
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
