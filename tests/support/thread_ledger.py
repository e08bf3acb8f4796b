"""The ledger for threads, with the commands that only coroutines use in production."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scheduler import commands, job_listing, queue_choice, queue_view
from scheduler.job import AppendRequest, Claim, Release, Status, StepReply
from scheduler.job_listing import MAX_JOBS_READ, JobCursor, JobPage
from scheduler.ledger import Ledger
from scheduler.queue_choice import JobExplanation
from scheduler.queue_view import QueueOrder


class ThreadLedger(Ledger):
    """`Ledger` with the methods of `AsyncLedger`."""

    def delete(self, id: str, tenant: str) -> bool:
        return self.scripts.execute(commands.delete(id, tenant))

    def subscribe(self, id: str, subscriber: str) -> Status | None:
        return self.scripts.execute(commands.subscribe(id, subscriber))

    def queue_order(self, model: str) -> QueueOrder:
        return self.scripts.execute(queue_view.queue_order(model))

    def list_jobs(
        self,
        model: str,
        *,
        tenant: str | None = None,
        status: Status | None = None,
        cursor: JobCursor = JobCursor(),  # noqa: B008 - immutable
        most: int = MAX_JOBS_READ,
    ) -> JobPage:
        return self.scripts.execute(job_listing.list_jobs(model, tenant, status, cursor, most))

    def explain_job(self, id: str) -> JobExplanation | None:
        return self.scripts.execute(queue_choice.explain_job(id))

    def take_claims(self, worker: str, incarnation: str, known: Collection[str]) -> list[Claim]:
        return self.scripts.execute(commands.take_claims(worker, incarnation, known))

    def step(
        self, incarnation: str, appends: Sequence[AppendRequest], releases: Sequence[Release]
    ) -> StepReply:
        return self.scripts.execute(commands.step(incarnation, appends, releases))
