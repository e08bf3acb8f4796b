"""The task that is one request: its id is the response's id, its arguments are none."""

from __future__ import annotations

from typing import Any

from scheduler.errors import Failed
from tasks import worker_interface as host
from tasks.app import app

GENERATE = "stoker.generate"


@app.task(name=GENERATE, bind=True, throws=(Failed,))
def generate(self: Any) -> str:
    """Run the job this bell rang for."""
    return host.current().generate(self.request.id)
