"""The jobs of lines, as a run of a batch needs them: to admit, to look at, to read and to cancel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from api.access.caller import Caller
from api.batches.endpoints import ENDPOINTS
from api.batches.line_job import RETENTION_MARGIN_S, Answer, UnreadJob, answer_of, make_line_job
from api.batches.lines import Line
from api.inference.demand_looker import add_load_choice
from api.services import AppServices
from config.limits import Limits
from config.settings import Settings
from fleet.fleet import Fleet
from scheduler.job import Job, Status
from scheduler.ledger import Ledger
from store.scripts import redis_errors_translated, without_errors
from streams.events import decode_all
from streams.log import WHOLE_PAGE, entries_of, page_command


@dataclass(frozen=True, slots=True)
class JobState:
    """The status of a job, None when it is gone, and how often it was dispatched."""

    status: Status | None
    attempts: int = 0


class LineJobs(Protocol):
    """Fulfilled by `LedgerJobs`."""

    def make(self, caller: Caller, path: str, line: Line, id_hex: str, created_at: int) -> Job | UnreadJob:
        """The job of a line. Raises `StokerError` when it is refused."""
        ...

    def limits(self, job: Job) -> Limits:
        """The limits of its tenant."""
        ...

    def admit(self, job: Job, fence: str, until_s: float) -> bool:
        """Admit a job, which may wait for so long; returns whether it waits. Raises `Rejected`, `Fenced`."""
        ...

    def states(self, ids: Sequence[str]) -> list[JobState]:
        """The states of jobs."""
        ...

    def answer(self, id: str, tenant: str, path: str) -> Answer:
        """The answer of a job that has ended."""
        ...

    def cancel(self, id: str, tenant: str) -> None:
        """Cancel a job."""
        ...


class LedgerJobs:
    """The jobs in the ledger. For the runner's thread."""

    def __init__(self, services: AppServices) -> None:
        self._services = services
        self._ledger: Ledger = services[Ledger]

    def make(self, caller: Caller, path: str, line: Line, id_hex: str, created_at: int) -> Job | UnreadJob:
        """Make the job of a line. Raises `StokerError` when the line is refused."""
        return make_line_job(self._services, caller, path, line, id_hex, created_at=created_at)

    def limits(self, job: Job) -> Limits:
        """The limits of the job's tenant."""
        assert job.limits is not None  # noqa: S101 - `parse_request` sets them
        return job.limits

    def admit(self, job: Job, fence: str, until_s: float) -> bool:
        """Admit a job; return whether it waits. Raises `Rejected` and `Fenced`."""
        job = replace(
            add_load_choice(job, self._services[Fleet].catalogue),
            batch_fence=fence,
            max_wait_ms=max(1, int(until_s * 1000)),
            retention_s=max(1, int(until_s)) + RETENTION_MARGIN_S,
        )
        return self._ledger.admit(job).depth > 0

    def states(self, ids: Sequence[str]) -> list[JobState]:
        """Read the states of jobs."""
        return [JobState(*state) if state else JobState(None) for state in self._ledger.states(ids)]

    def answer(self, id: str, tenant: str, path: str) -> Answer:
        """Render the answer of a job that has ended."""
        dialect = ENDPOINTS[path].dialect
        row = self._ledger.lookup(id, tenant)
        if row is None:
            return answer_of(dialect, None, [])
        return answer_of(dialect, row, decode_all(self._log(id)))

    def _log(self, id: str) -> list[bytes]:
        events: list[bytes] = []
        after = 0
        with redis_errors_translated():
            while True:
                read = page_command(self._services[Settings].redis.prefix, id, after, WHOLE_PAGE)
                (reply,) = without_errors(self._ledger.scripts.exchange([read]))
                page = entries_of(reply)
                events += [event for _, event in page]
                if len(page) < WHOLE_PAGE:
                    return events
                after = page[-1][0]

    def cancel(self, id: str, tenant: str) -> None:
        """Cancel a job."""
        self._ledger.cancel(id, tenant)
