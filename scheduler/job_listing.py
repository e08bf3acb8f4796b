"""What operators see of the jobs that run and wait: never a prompt or an answer.

Reads only. A call takes a bounded number of commands, whatever the length of the queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scheduler.job import Status
from store.calls import Call
from store.script_arguments import NamedArguments

MAX_JOBS_READ = 50
"""One call looks at most at so many jobs: about a millisecond, in which Redis does nothing else."""


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as operators see it. Times are Unix seconds by Redis' clock.

    `attempt` counts the dispatches. `stopping`: it runs, and was asked to stop. `events` is the length of a
    running job's log: each event has one token or more.
    """

    id: str
    tenant: str
    model: str
    priority: str
    status: Status
    attempt: int
    admitted_at: float
    dispatched_at: float | None
    ended_at: float | None
    worker: str | None
    replica: str | None
    stopping: bool
    deadline: float | None
    events: int | None


@dataclass(frozen=True, slots=True)
class JobCursor:
    """Where a page of a model's jobs begins: behind the job of that fence, or of that admission (us)."""

    section: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class JobPage:
    """Some jobs of a model, and where the next page begins; `following` is None at the end."""

    now: float
    jobs: tuple[JobView, ...]
    following: JobCursor | None


def list_jobs(
    model: str,
    tenant: str | None = None,
    status: Status | None = None,
    cursor: JobCursor = JobCursor(),
    most: int = MAX_JOBS_READ,
) -> Call[JobPage]:
    """Return a page of the jobs of a model: those that run, then those that wait, the oldest first.

    A page may have fewer jobs, or none, and another one follow.
    """
    arguments: NamedArguments = {
        "model": model,
        "tenant": tenant or "",
        "status": str(status or ""),
        "section": cursor.section,
        "after": cursor.number,
        "most": min(most, MAX_JOBS_READ),
    }
    return Call("list_jobs", arguments, _parse_page)


def _parse_page(reply: Sequence[Any]) -> JobPage:
    now_us, rows, section, number = reply
    following = JobCursor(section.decode(), int(number)) if section else None
    return JobPage(float(now_us) / 1e6, tuple([parse_row(row) for row in rows]), following)


def parse_row(row: Sequence[Any]) -> JobView:
    """Return what `job_row` has read."""
    id, tenant, model, priority, status, attempts, admitted, dispatched, ended = row[:9]
    worker, replica, cancel, deadline, events = row[9:]
    status = Status(status.decode())
    return JobView(
        id=id.decode(),
        tenant=tenant.decode(),
        model=model.decode(),
        priority=priority.decode(),
        status=status,
        attempt=int(attempts or 0),
        admitted_at=float(admitted) / 1e6,
        dispatched_at=float(dispatched) / 1e6 if dispatched else None,
        ended_at=float(ended) / 1e6 if ended else None,
        worker=worker.decode() if worker else None,
        replica=replica.decode() if replica else None,
        stopping=status is Status.RUNNING and cancel == b"1",
        # from its end on it is the time at which the job is deleted
        deadline=float(deadline) / 1e6 if deadline and not status.is_terminal else None,
        events=None if events is None else int(events),
    )
