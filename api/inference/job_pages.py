"""Pages of the jobs that run and wait, over all models: a page reads Redis a bounded number of times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from flask import request

from api.http.errors import InvalidRequest
from scheduler.job import Status
from scheduler.job_listing import JobCursor, JobView
from scheduler.ledger import AsyncLedger

MAX_READS = 200
"""One request reads Redis at most so often, however many models there are; another page follows."""

AFTER = {
    "name": "after",
    "in": "query",
    "description": "The `next_after` of the page before.",
    "schema": {"type": "string", "maxLength": 1024},
}

_CURSOR = re.compile(r"(running|queued|)\.(\d{1,16})\.(.{1,1000})", re.DOTALL)


_START = JobCursor()


@dataclass(frozen=True, slots=True)
class JobPlace:
    """Where a page begins: the model, and where in its jobs."""

    model: str = ""
    cursor: JobCursor = _START

    def __str__(self) -> str:
        """As `place_parameter` reads it."""
        return f"{self.cursor.section}.{self.cursor.number}.{self.model}"


def place_parameter() -> JobPlace:
    """The place that the query parameter `after` names, the first one without it. Raises `InvalidRequest`."""
    after = request.args.get("after")
    if after is None:
        return JobPlace()
    found = _CURSOR.fullmatch(after)
    if found is None:
        raise InvalidRequest("after must be the next_after of a page", param="after")
    return JobPlace(found[3], JobCursor(found[1], int(found[2])))


@dataclass(frozen=True, slots=True)
class JobsOfModels:
    """A page, and where the next one begins. `now` is the time (Unix seconds) at which each job was read."""

    jobs: tuple[tuple[float, JobView], ...]
    following: JobPlace | None


async def read_page(  # noqa: PLR0913, PLR0917 - what is listed, and the page
    ledger: AsyncLedger,
    models: Sequence[str],
    tenant: str | None,
    status: Status | None,
    place: JobPlace,
    most: int,
) -> JobsOfModels:
    """The jobs of sorted models: of each those that run, then those that wait. Raises `StorageUnavailable`.

    It may have fewer jobs than `most`, or none, and another page follow.
    """
    names = [name for name in models if name >= place.model]
    # of a model that is gone, the page begins with the next one
    cursor = place.cursor if place.model in models else _START
    jobs: list[tuple[float, JobView]] = []
    for _ in range(MAX_READS):
        if not names or len(jobs) == most:
            break
        page = await ledger.list_jobs(names[0], tenant, status, cursor, most - len(jobs))
        jobs += [(page.now, job) for job in page.jobs]
        cursor = page.following or JobCursor()
        if page.following is None:
            names = names[1:]
    return JobsOfModels(tuple(jobs), JobPlace(names[0], cursor) if names else None)
