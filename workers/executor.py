"""Runs the jobs of one worker: submits their claims to engines, and reports how they ended.

The scheduler decides which job runs next; the executor decides nothing about order. A job belongs to the
thread of the worker's event loop from its claim to its release.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from backends.base import EndsReasoning, Finish, GenerationError
from backends.catalogue import BACKENDS
from config.settings import ModelDefinition, Settings
from engines.engine_process.errors import EngineError, EngineLost
from fleet.fleet import Fleet
from generation.generation import Generation
from scheduler.job import Claim, HeartbeatReply, Release, Status
from scheduler.ledger import AsyncLedger, Ledger
from store.async_connection import AsyncConnection
from store.errors import Fenced, StokerError
from streams.events import Delta, Usage
from telemetry.tracing import Tracing
from workers.bounded_names import BoundedNames
from workers.cache_flushes import CacheFlushes
from workers.current_namespaces import CurrentNamespaces
from workers.event_writer import EventWriter
from workers.file_operations import FileOperations
from workers.processed_tokens import ProcessedTokens
from workers.replica_manager import ReplicaManager
from workers.running_job import STOP_MESSAGES, RunningJob, release_after_error, release_after_finish
from workers.stall_detector import StallDetector
from workers.states.state_actions import StateActions
from workers.task_events import TaskEvents
from workers.trace_run import trace_run
from workers.truncation import submit_truncated

logger = logging.getLogger("workers")

REMEMBERED_CLAIMS = 10_000
REMEMBERED_CANCELLATIONS = 1_000

CLAIMS_TIMEOUT_S = 2.0
STOPPED_TIMEOUT_S = 2.0
"""How long a shut-down waits for the ends of stopped jobs, and again after their engines have stopped."""

ENGINE_GONE = EngineLost("engine_crashed", "the engine is gone")


class Executor:
    """Implements `tasks.worker_interface.WorkerInterface`, and runs jobs on the event loop `loop`.

    `running` holds the jobs by id, from their claim to their end; `draining` is set when the worker shuts
    down and takes no new replicas. Methods are called on the loop, except those that name threads.
    """

    def __init__(
        self, worker: str, settings: Settings, ledger: Ledger, fleet: Fleet, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.worker = worker
        self.loop = loop
        self.running: dict[str, RunningJob] = {}
        self.draining = False
        self.task_events = TaskEvents(loop)
        self.async_ledger = AsyncLedger(AsyncConnection(settings), settings)
        self.event_writer = EventWriter(
            self.async_ledger,
            settings.limits.max_log_bytes,
            self.stop_job,
            self.begin_jobs,
            self.recover_claims,
        )
        self.processed_tokens = ProcessedTokens()
        self.tracing: Tracing | None = None
        """Set by the worker when it is on."""
        self.replicas = ReplicaManager(worker, settings, ledger, fleet, loop)
        self.replicas.stop_jobs = self.stop_jobs_on
        self.stall_detector = StallDetector(
            settings.limits, self.running, self.replicas, self.stop_job, self.lose_engine
        )
        self._cached_weight = settings.queue.cached_token_weight
        self._namespaces = CurrentNamespaces(fleet.client, settings.redis.prefix, loop, self.replicas.by_name)
        self._states = StateActions(settings.state)
        self._flushes = CacheFlushes(fleet, self.replicas, self._namespaces, loop)
        self.files = FileOperations(worker, settings, fleet)
        self._registry = fleet.registry
        self._fences = BoundedNames(REMEMBERED_CLAIMS)
        self._cancelled_early = BoundedNames(REMEMBERED_CANCELLATIONS)
        self._later_claims: dict[str, Claim] = {}  # of jobs that still run here under an earlier claim
        self._lost_engines: dict[str, asyncio.Future[None]] = {}  # by replica, until the ledger knows
        self._recovering = False
        self._tasks: set[asyncio.Future[Any]] = set()

    def begin(self, incarnation: str) -> None:
        """Start under the incarnation that the fleet gave at registration. From any thread."""
        self.replicas.incarnation = self.replicas.memory_reporter.incarnation = incarnation
        self.loop.call_soon_threadsafe(self.event_writer.begin, incarnation)

    @property
    def incarnation(self) -> str:
        """The incarnation given to `begin`."""
        return self.replicas.incarnation

    def load(self, replica: str) -> str:
        """Start the engine of a replica. Called from any thread but the event loop's."""
        with suppress(StokerError):  # read again at the first request
            # after the assignment: a flush that began before it does not ask this replica
            self.loop.call_soon_threadsafe(self._namespaces.adopt, self._namespaces.read())
        return self.replicas.load(replica)

    def unload(self, replica: str) -> str:
        """Drain and stop the engine of a replica. Called from any thread but the event loop's."""
        return self.replicas.unload(replica)

    def flush(self, replica: str, operation: str) -> str:
        """Drop what a flush covers from a replica's engine. Called from any thread but the event loop's."""
        return self._flushes.flush(replica, operation)

    def file_operation(self, operation: str) -> str:
        """Begin a download or removal of a model's files. Called from any thread."""
        return self.files.begin(operation)

    def heartbeat(self, ledger: Ledger) -> HeartbeatReply:
        """Send a heartbeat, with the tokens that were processed. From any thread but the event loop's.

        Raises `Fenced` and `StorageUnavailable`.
        """
        reply = ledger.heartbeat(self.worker, self.incarnation, self.processed_tokens.next_report())
        self.processed_tokens.confirmed()
        return reply

    # ---- from a claim to its release

    def begin_jobs(self, claims: Sequence[Claim]) -> None:
        """Run jobs. A claim that was seen before is ignored: it may arrive in several ways, and late."""
        for claim in claims:
            if not self._fences.add(claim.fence):
                continue
            earlier = self.running.get(claim.id)
            if earlier is None:
                self._begin_job(claim)
            elif int(claim.fence) > int(self._later_claims.get(claim.id, earlier.claim).fence):
                # the ledger ended the earlier claim (its lease ran out); its generation has to end first
                self._later_claims[claim.id] = claim
                self.stop_job(earlier, "fenced")

    def _begin_job(self, claim: Claim) -> None:
        job = self.running[claim.id] = RunningJob(claim, self)
        self.task_events.began(job)
        if claim.id in self._cancelled_early:
            job.stop("cancelled")
            job.finish(Finish("cancelled", Usage()))
            return
        replica = self.replicas.get(job.replica)
        if replica is None or replica.engine is None:
            job.fail(ENGINE_GONE)
            return
        try:
            generation = Generation.from_json(claim.generation)
            job.trace, job.counts_only = generation.trace, generation.computes_nothing
            if (refused := _wrong_kind(replica.model, generation)) is not None:
                job.fail(refused)
                return
            generation = self._namespaces.checked(
                replica.name, self._counted(job, replica.model.name, generation)
            )
            if generation.state is not None:
                self._states.submit(claim.id, generation, replica, job)
            elif generation.truncate:
                submit_truncated(replica.engine, claim.id, generation, job, lambda: job.stop_code is not None)
            else:
                replica.engine.submit(claim.id, generation, job)
        except Exception:
            logger.exception("a job failed with an unexpected error", extra={"response_id": claim.id})
            job.fail(GenerationError("engine_error", "the engine failed"))

    def _counted(self, job: RunningJob, model: str, generation: Generation) -> Generation:
        """Begin to count the tokens of a job; its engine reports the progress of the prompt for that."""
        if job.counts_only:
            return generation
        owner = generation.cache_owner
        job.tokens = self.processed_tokens.begin(model, "" if owner is None else owner.tenant)
        if generation.reports_progress or generation.embedding is not None or generation.media is not None:
            return generation
        job.shows_progress = False
        return replace(generation, reports_progress=True)

    def job_delta(self, job: RunningJob, delta: Delta) -> None:
        """Write a delta of a job."""
        self.event_writer.write(job, delta)

    def job_left_engine(self, job: RunningJob, outcome: Finish | EngineError) -> None:
        """End a job whose generation has ended in the engine."""
        if job.tokens is not None:
            self.processed_tokens.end(job.tokens, outcome.usage if isinstance(outcome, Finish) else None)
        if isinstance(outcome, Finish) and not job.counts_only:
            replica = self.replicas.get(job.replica)
            if replica is not None:
                replica.count_prompt(outcome.usage)
        if isinstance(outcome, EngineLost):
            self._spawn(self._end_after_loss(job, outcome))
        elif isinstance(outcome, EngineError):
            self._end(job, release_after_error(job, outcome))
        elif job.suspect:
            self._spawn(self._end_after_probe(job, outcome))
        else:
            self._end(job, release_after_finish(job, outcome, self._cached_weight))

    async def _end_after_loss(self, job: RunningJob, error: EngineLost) -> None:
        # the ledger has to know first: otherwise it would give the slot, or this job, to the lost engine
        await self.lose_engine(job.replica, error)
        self._end(job, release_after_error(job, error, retry=not job.has_output))

    async def _end_after_probe(self, job: RunningJob, finish: Finish) -> None:
        """End a job whose engine may hang, after a probe: only then may its slot get the next job."""
        replica = self.replicas.get(job.replica)
        if replica is not None and replica.engine is not None and not replica.remote:
            try:
                await self.stall_detector.probe(job, replica.engine)
            except EngineLost as error:
                await self._end_after_loss(job, error)
                return
            except Exception:
                extra = {"response_id": job.claim.id}
                logger.exception("a probe failed with an unexpected error", extra=extra)
        self._end(job, release_after_finish(job, finish, self._cached_weight))

    def _end(self, job: RunningJob, release: Release) -> None:
        id = job.claim.id
        del self.running[id]
        if (
            job.stop_code != "fenced"
        ):  # the ledger has ended this run: its end belongs to whoever took it over
            self.event_writer.end(job, release)
        self.task_events.ended(job, release)
        if job.trace is not None and self.tracing is not None:
            trace_run(self.tracing, self.worker, job, release)
        later = self._later_claims.pop(id, None)
        if later is not None:
            self._begin_job(later)

    def lose_engine(self, replica: str, error: EngineLost) -> asyncio.Future[None]:
        """Report a lost engine, in a thread. The result is done when the ledger knows."""
        reported = self._lost_engines.get(replica)
        if reported is None:
            reported = self.loop.run_in_executor(None, self._report_lost, replica, error)
            self._lost_engines[replica] = reported
            reported.add_done_callback(lambda _: self._lost_engines.pop(replica))
        return reported

    def _report_lost(self, replica: str, error: EngineLost) -> None:
        try:
            self.replicas.report_lost(replica, error)
        except StokerError:
            logger.warning("Redis is unreachable; the loss of %s is not reported", replica)
        except Exception:  # the jobs that wait for this have to end all the same
            logger.exception("the loss of %s is not reported", replica)

    # ---- claims whose message was lost

    def reconcile_jobs(self, running: frozenset[str], older_than_s: float) -> None:
        """Bring the jobs into the state of the ledger, which lists these as running here.

        A job that it does not list is stopped, unless it began less than `older_than_s` ago: perhaps after
        the ledger's answer.
        """
        now = time.monotonic()
        for id, job in list(self.running.items()):
            if id not in running and now - job.started > older_than_s:
                self.stop_job(job, "fenced")
        if not running <= self._known_ids():
            self.recover_claims()

    def recover_claims(self) -> None:
        """Ask the ledger for claims that did not arrive here."""
        if not self._recovering:
            self._recovering = True
            self._spawn(self._recover_claims())

    async def _recover_claims(self) -> None:
        while await self._recover_some_claims():
            pass  # one reply does not hold more than some megabytes of requests

    async def _recover_some_claims(self) -> bool:
        """Begin the jobs of one reply. True when some were new, so that the next reply may hold more."""
        try:
            claims = await self.async_ledger.take_claims(self.worker, self.incarnation, self._known_ids())
        except Fenced:
            return False  # the heartbeat ends this process
        except StokerError as error:
            logger.debug("%s", error.message)  # the next heartbeat lists the jobs again
            return False
        finally:
            self._recovering = False
        known = self._known_ids()
        lost = [
            claim for claim in claims if claim.id not in known and (claim.fence in self._fences or claim.last)
        ]
        if lost:
            await self._end_lost_jobs(lost)
        more = any(claim.fence not in self._fences for claim in claims)
        self.begin_jobs(claims)
        return more

    async def _end_lost_jobs(self, claims: Sequence[Claim]) -> None:
        """End jobs that ran here and have ended: Redis has lost their ends, and lists them as running again.

        Where the list was only outdated, the ledger refuses this.
        """
        releases = [
            Release(claim.id, claim.fence, Status.FAILED, code="log_lost", message=STOP_MESSAGES["log_lost"])
            for claim in claims
        ]
        for claim in claims:
            logger.warning("Redis has lost the end of a job", extra={"response_id": claim.id})
            self._fences.add(claim.fence)
        with suppress(StokerError):  # the next heartbeat lists the jobs again
            reply = await self.async_ledger.step(self.incarnation, [], releases)
            self.begin_jobs(reply.claims)

    def _known_ids(self) -> set[str]:
        return {*self.running, *self.event_writer.releasing}

    # ---- stopping jobs

    def stop_job(self, job: RunningJob, code: str) -> None:
        """Stop a running job with a reason `code` (see `RunningJob.stop_code`); the first reason stays."""
        if job.stop(code) and not job.left_engine:
            replica = self.replicas.get(job.replica)
            if replica and replica.engine:
                replica.engine.cancel(job.claim.id)
                self._states.cancel(job.claim.id)

    def on_message(self, message: bytes) -> None:
        """Take a message from the ledger's channel for this worker: a verb and the id of a job."""
        verb, _, id = message.decode().partition(" ")
        if verb == "cancel":
            self.cancel_job(id)
        elif verb == "end_reasoning":
            self.end_reasoning(id)

    def cancel_job(self, id: str) -> None:
        """Cancel the job with that id. Its claim may arrive after this, in which case it will not start."""
        job = self.running.get(id)
        if job is not None:
            self.stop_job(job, "cancelled")
        if job is None or id in self._later_claims:
            self._cancelled_early.add(id)

    def end_reasoning(self, id: str) -> None:
        """End the reasoning of the job with that id, if it runs here in an engine that can."""
        job = self.running.get(id)
        replica = None if job is None else self.replicas.get(job.replica)
        if replica is not None and isinstance(replica.engine, EndsReasoning):
            replica.engine.end_reasoning(id)

    def stop_jobs_on(self, replica: str, code: str) -> None:
        """Stop all jobs that run on a replica. From any thread."""
        self.loop.call_soon_threadsafe(self._stop_jobs, code, replica)

    def _stop_jobs(self, code: str, replica: str | None = None) -> None:
        for job in list(self.running.values()):
            if replica is None or job.replica == replica:
                self.stop_job(job, code)

    # ---- shutting down

    def shut_down(self, timeout_s: float) -> None:
        """Let running jobs finish for up to `timeout_s`, stop the rest, then stop all engines.

        From any thread but the loop's.
        """
        self.draining = True
        self.files.stop()
        try:
            self._registry.begin_shutdown(self.worker, self.incarnation)
        except StokerError:
            logger.warning("Redis is unreachable; draining all the same")
        # jobs that were dispatched here before, and whose claims are on their way, may finish as well
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._recover_claims(), self.loop).result(CLAIMS_TIMEOUT_S)
        self._wait_for_jobs(timeout_s)
        self.loop.call_soon_threadsafe(self._stop_jobs, "worker_shutdown")
        self._wait_for_jobs(STOPPED_TIMEOUT_S)
        self.replicas.stop_all()
        self._wait_for_jobs(STOPPED_TIMEOUT_S)
        try:
            self._registry.deregister(self.worker, self.incarnation, f"worker {self.worker} was shut down")
        except StokerError:
            logger.warning("Redis is unreachable; this worker's lease will run out")

    def kill(self) -> None:
        """Kill all engines at once, because this incarnation is over. From any thread but the loop's."""
        self.draining = True
        self.files.stop()
        self.replicas.stop_all(timeout_s=0.0)

    def _wait_for_jobs(self, timeout_s: float) -> None:
        """Wait until no job runs and all that they produced is written."""
        deadline = time.monotonic() + timeout_s
        while self.running and time.monotonic() < deadline:
            time.sleep(0.02)
        self.event_writer.wait_idle(2)

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(coroutine)
        self._tasks.add(task)  # the loop holds tasks weakly
        task.add_done_callback(self._tasks.discard)


def _wrong_kind(model: ModelDefinition, generation: Generation) -> GenerationError | None:
    """The error for a kind of request that the model does not answer: the API may have another definition."""
    backend, asked, options = BACKENDS[model.backend], generation.embedding, model.options
    tasks = backend.media_tasks(options)
    if generation.media is not None:
        can, code, lacks = generation.media.kind in tasks, "wrong_endpoint", "does not do this task"
    elif tasks:
        can, code, lacks = False, "generation_unsupported", "does not answer in text"
    elif generation.text_task is not None:
        can, code, lacks = backend.does_text_tasks(options), "not_supported", "has no such function"
    elif asked is None:
        can = backend.answers_in_text(options)
        code, lacks = "generation_unsupported", "does not generate answers"
    elif asked.query is None:
        can, code, lacks = backend.embeds(options), "embeddings_unsupported", "does not compute embeddings"
    else:
        can, code, lacks = backend.reranks(options), "rerank_unsupported", "does not score documents"
    return None if can else GenerationError(code, f"the loaded model {lacks}")
