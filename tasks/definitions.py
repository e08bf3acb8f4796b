"""The Celery tasks, which load, unload and flush replicas and begin work on files, and their messages.

Each task calls the worker that runs in its process (`tasks/worker_interface.py`). The API imports this module
for the task signatures and has no worker.
"""

from __future__ import annotations

import logging

from kombu.exceptions import OperationalError

from fleet.load_request import LoadOutcome
from fleet.operation import new_operation_id, task_id
from store.errors import Failed
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


@app.task(name="stoker.flush", throws=(Failed,))
def flush(replica: str, operation: str) -> str:
    """Drop what a flush concerns from the engine of one replica."""
    return current_worker().flush(replica, operation)


@app.task(name="stoker.files", throws=(Failed,))
def files(operation: str) -> str:
    """Begin a download or removal of a model's files; it goes on in a thread of its own."""
    return current_worker().file_operation(operation)


TASKS = {"load": load, "unload": unload, "flush": flush, "download": files, "remove": files}
"""By the kind of the operation."""


def notify_workers(outcome: LoadOutcome) -> None:
    """Send a task to each worker that has to start, stop or flush a replica, or to work on files.

    `task_id` has the ids of the tasks. A message that cannot be sent is logged and not repeated: the worker's
    next heartbeat finds the replica.
    """
    if outcome.eviction is not None:
        notify_workers(outcome.eviction)
    task = TASKS[outcome.kind]
    first = outcome.operation.id if outcome.operation else new_operation_id(outcome.kind)
    more = (first,) if outcome.kind == "flush" else ()  # a replica may have several flushes to make
    for index, assignment in enumerate(outcome.assignments):
        try:
            task.apply_async(
                (assignment.replica, *more),
                task_id=task_id(first, index),
                queue=control_queue(assignment.worker),
                ignore_result=True,
            )
        except OperationalError:
            logger.warning(
                "no message could be sent for replica %s: the heartbeat of worker %s will find it",
                assignment.replica,
                assignment.worker,
            )
