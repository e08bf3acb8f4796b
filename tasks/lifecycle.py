"""The tasks that load and unload, and the ringing for them."""

from __future__ import annotations

import logging

from kombu.exceptions import OperationalError

from fleet.load_request import LoadOutcome
from fleet.operation import new_operation_id
from scheduler.errors import Failed
from tasks import worker_interface as host
from tasks.app import app, control_queue

logger = logging.getLogger("tasks")


@app.task(name="stoker.load", throws=(Failed,))
def load(replica: str) -> str:
    """Start the engine of one replica."""
    return host.current().load(replica)


@app.task(name="stoker.unload", throws=(Failed,))
def unload(replica: str) -> str:
    """Drain and stop the engine of one replica."""
    return host.current().unload(replica)


def ring(change: LoadOutcome) -> None:
    """Ring the workers that a load or unload concerns; a heartbeat finds what a lost bell did not announce.

    The task of the first replica has the operation's id, those of the others have `.1`, `.2`, ... behind it.
    """
    if change.eviction is not None:
        ring(change.eviction)
    task = load if change.kind == "load" else unload
    first = change.operation.id if change.operation else new_operation_id(change.kind)
    for index, assignment in enumerate(change.assignments):
        id = first if index == 0 else f"{first}.{index}"
        try:
            task.apply_async(
                (assignment.replica,), task_id=id, queue=control_queue(assignment.worker), ignore_result=True
            )
        except OperationalError:
            logger.warning("no bell for %s: worker %s will find it", assignment.replica, assignment.worker)
