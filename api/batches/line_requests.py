"""The requests in the lines of one batch: makes their jobs, and the outcomes of lines from jobs and errors.

A fault of the platform is the error of its line alone, as it would be over HTTP; the log has its details.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future

from api.access.caller import Caller
from api.batches.endpoints import ENDPOINTS
from api.batches.jobs import JobState, LineJobs
from api.batches.line_job import Answer, UnreadJob, job_hex
from api.batches.lines import InvalidLine, Line, parse_line
from api.batches.outcome_file import NO_USAGE, LineId, Outcome, errored, not_processed, succeeded
from api.http.errors import InvalidRequest, internal_error
from api.inference.dialects.base import ParsedRequest
from api.inference.make_job import replace_generation
from scheduler.batches import BatchRow
from scheduler.job import Job, Status
from store.errors import Fenced, StokerError

logger = logging.getLogger("api")

LATER = frozenset(
    (
        "budget_exceeded",
        "model_not_loaded",
        "model_loading",
        "model_unloading",
        "model_failed",
        "queue_full",
        "queue_timeout",
        "rate_limit_exceeded",
        "server_busy",
        "storage_full",
        "storage_unavailable",
        "tenant_storage_full",
        "too_many_documents",
        "load_failed",
        "load_timeout",
        "load_cancelled",
        "load_interrupted",
    )
)
"""The codes of refusals, and of jobs that never ran, after which a line is tried again."""


def is_for_later(error: StokerError) -> bool:
    """Whether a line that was refused like this is tried again; else it is its outcome."""
    return error.code in LATER


class LineRequests:
    """Makes the jobs and the outcomes of the lines of a batch, whose requests go to one endpoint."""

    def __init__(self, row: BatchRow, endpoint: str, jobs: LineJobs) -> None:
        self._id, self._tenant, self._kind = row.id, row.tenant, row.kind
        self._endpoint, self._jobs = endpoint, jobs

    # ---- ids

    def job_id(self, number: int) -> str:
        """The id of the job of a line."""
        return f"{ENDPOINTS[self._endpoint].dialect.ID_PREFIX}{job_hex(self._id, number)}"

    def line_id(self, number: int, raw: bytes) -> LineId:
        """The identity of a line; without a custom_id if the text is none of a line."""
        try:
            custom_id = self._line(number, raw).custom_id
        except InvalidRequest:
            custom_id = ""
        return LineId(self._kind, number, custom_id, job_hex(self._id, number))

    def _line(self, number: int, raw: bytes) -> Line:
        """The line of a text, which was checked before the batch began. Raises `InvalidRequest`."""
        try:
            return parse_line(number, raw, self._kind, self._endpoint)
        except InvalidLine as error:
            raise InvalidRequest(error.message, param=error.param) from None

    # ---- jobs

    def make(self, caller: Caller, id: LineId, raw: bytes, now: float) -> Job | UnreadJob:
        """The job of a line. Raises `StokerError`; a fault of the platform is one, too, as over HTTP."""
        try:
            line = self._line(id.number, raw)
            return self._jobs.make(caller, self._endpoint, line, id.hex, int(now))
        except (StokerError, Fenced):
            raise
        except Exception:
            logger.exception("a line of the batch %s failed", self._id)
            raise internal_error() from None

    def add_documents(self, job: Job, reading: Future[ParsedRequest]) -> Job:
        """The job of a line with the texts of its documents, which have been read. Raises `StokerError`."""
        try:
            return replace_generation(job, reading.result())
        except StokerError:
            raise
        except Exception:
            logger.exception("the documents of a line of the batch %s cannot be read", self._id)
            raise internal_error() from None

    # ---- outcomes

    def outcome(self, id: LineId, job: str, state: JobState, reason: str | None) -> Outcome | None:
        """The outcome of a line whose job has ended; None if it never ran and is tried again.

        `reason` is why the batch ends before its last line, if it does.
        """
        if state.status is Status.CANCELLED and reason is not None:
            return not_processed(id, reason)
        answer = self._answer(job)
        if answer.error is None:
            return succeeded(id, answer.body, answer.usage)
        if state.status is not None and not state.attempts and is_for_later(answer.error):
            return None if reason is None else not_processed(id, reason)
        return errored(id, answer.error, answer.body, answer.usage)

    def refusal(self, id: LineId, error: StokerError) -> Outcome:
        """The outcome of a line that was refused."""
        return errored(id, error, ENDPOINTS[self._endpoint].dialect.error_body(error))

    def _answer(self, job: str) -> Answer:
        """The answer of a line whose job has ended."""
        path = self._endpoint
        try:
            return self._jobs.answer(job, self._tenant, path)
        except StokerError:
            raise
        except Exception:
            logger.exception("the answer to a line of the batch %s cannot be rendered", self._id)
            error = internal_error()
            return Answer(ENDPOINTS[path].dialect.error_body(error), error, NO_USAGE)
