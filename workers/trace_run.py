"""The spans of a job in a worker: its wait in the queue, and its run in the engine."""

from __future__ import annotations

import time
from typing import Any

import orjson

from scheduler.job import Release
from telemetry.tracing import Tracing
from workers.running_job import RunningJob


def trace_run(tracing: Tracing, worker: str, job: RunningJob, release: Release) -> None:
    """Add both spans of a job that has ended here.

    The span `queue` begins with the admission, by the clock of the API's host, and ends with the claim. The
    attributes of `engine` follow OpenTelemetry's conventions for generative AI where those have a name.
    """
    assert job.trace is not None  # noqa: S101 - the caller has checked it
    claim, parent = job.claim, job.trace.parent
    model, _, _ = claim.replica.partition("#")
    common = {"stoker.response_id": claim.id, "gen_ai.request.model": model}
    began_ns = int(job.began_at * 1e9)
    tracing.add("queue", parent, min(job.trace.sent_ns, began_ns), began_ns, common)
    attributes: dict[str, Any] = {
        **common,
        "stoker.worker": worker,
        "stoker.replica": claim.replica,
        "stoker.attempt": claim.attempt,
        "stoker.status": release.status.value,
    }
    if release.finish_reason:
        attributes["gen_ai.response.finish_reasons"] = [release.finish_reason]
    if release.usage:
        usage = orjson.loads(release.usage)
        attributes["gen_ai.usage.input_tokens"] = usage["input_tokens"]
        attributes["gen_ai.usage.output_tokens"] = usage["output_tokens"]
        attributes["stoker.cached_tokens"] = usage["cached_tokens"]
    events = {} if job.first_output_at is None else {"first output": int(job.first_output_at * 1e9)}
    failure = release.code if release.status.value == "failed" else None
    tracing.add("engine", parent, began_ns, time.time_ns(), attributes, failure=failure, events=events)
