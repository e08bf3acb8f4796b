"""The Celery tasks, which load and unload replicas, and the messages that notify workers of them.

Each task calls the worker that runs in its process (`tasks/worker_interface.py`). The API imports this module
for the task signatures and has no worker.
"""

from __future__ import annotations

import logging

from kombu.exceptions import OperationalError

from fleet.load_request import LoadOutcome
from fleet.operation import new_operation_id
from scheduler.errors import Failed
from tasks.app import app, control_queue
from tasks.worker_interface import current_worker

logger = logging.getLogger("tasks")


@app.task(name="stoker.load", throws=(Failed,))
def load(replica: str) -> str:
    """Start the engine of one replica."""
    return current_worker().load(replica)


@app.task(name="stoker.unload", throws=(Failed,))
def unload(replica: str) -> str:
    """Drain and stop the engine of one replica."""
    return current_worker().unload(replica)


def notify_workers(outcome: LoadOutcome) -> None:
    """Send a task to each worker that has to start or stop a replica.

    The task of the first replica has the operation's id; `.1`, `.2`, ... is appended for the others. A
    message that cannot be sent is logged and not repeated: the worker's next heartbeat finds the replica.
    """
    if outcome.eviction is not None:
        notify_workers(outcome.eviction)
    task = load if outcome.kind == "load" else unload
    first = outcome.operation.id if outcome.operation else new_operation_id(outcome.kind)
    for index, assignment in enumerate(outcome.assignments):
        id = first if index == 0 else f"{first}.{index}"
        try:
            task.apply_async(
                (assignment.replica,), task_id=id, queue=control_queue(assignment.worker), ignore_result=True
            )
        except OperationalError:
            logger.warning(
                "no message could be sent for replica %s: the heartbeat of worker %s will find it",
                assignment.replica,
                assignment.worker,
            )
