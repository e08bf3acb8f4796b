"""The response bodies of /v1/admin/jobs."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.answer_fields import described
from scheduler.job import QUEUE_PRIORITIES, Status
from scheduler.queue_choice import Cause


class JobObject(marshmallow.Schema):
    """A job as operators see it: no prompt and no answer. Times are Unix seconds."""

    id = fields.String(required=True, metadata=described("The response's id."))
    object = fields.String(required=True, metadata={"enum": ["job"]})
    model = fields.String(required=True)
    tenant = fields.String(required=True)
    priority = fields.String(required=True, metadata={"enum": list(QUEUE_PRIORITIES)})
    status = fields.String(required=True, metadata={"enum": [str(status) for status in Status]})
    stopping = fields.Boolean(required=True, metadata=described("True while its engine is asked to stop it."))
    createdAt = fields.Float(required=True, metadata=described("Its admission."))  # noqa: N815 - as /v1/queue writes
    dispatchedAt = fields.Float(  # noqa: N815
        required=True, allow_none=True, metadata=described("When it got its slot.")
    )
    endedAt = fields.Float(required=True, allow_none=True)  # noqa: N815
    deadline = fields.Float(
        required=True,
        allow_none=True,
        metadata=described("When it ends at the latest: its wait, or its run."),
    )
    waitedMs = fields.Integer(required=True, metadata=described("Until it got its slot, or until now."))  # noqa: N815
    runMs = fields.Integer(required=True, allow_none=True)  # noqa: N815
    worker = fields.String(required=True, allow_none=True)
    replica = fields.String(required=True, allow_none=True)
    attempt = fields.Integer(
        required=True, metadata=described("How often it got a slot: 2 after its engine was lost.")
    )
    position = fields.Integer(
        required=True,
        allow_none=True,
        metadata=described("Of a waiting one: 1 is the next one, by fair share as it stands."),
    )
    positionIsEstimate = fields.Boolean(  # noqa: N815
        required=True, allow_none=True, metadata=described("True behind the first 100 jobs.")
    )
    estimatedWaitMs = fields.Integer(required=True, allow_none=True)  # noqa: N815
    tokens = fields.Integer(
        required=True,
        allow_none=True,
        metadata=described(
            "Of a running one: at least so many tokens were written. Those that an engine gives at once, or"
            " that are written in one step, count once."
        ),
    )
    tokensPerSecond = fields.Float(  # noqa: N815
        required=True, allow_none=True, metadata=described("`tokens` by the time since it got its slot.")
    )


class JobList(marshmallow.Schema):
    """A page of jobs."""

    object = fields.String(required=True, metadata={"enum": ["list"]})
    data = fields.List(fields.Nested(JobObject), required=True)
    has_more = fields.Boolean(required=True)
    next_after = fields.String(
        required=True, allow_none=True, metadata=described("`after` of the next page; null at the end.")
    )


class JobTenant(marshmallow.Schema):
    """What a tenant is compared by."""

    tenant = fields.String(required=True)
    weight = fields.Float(required=True)
    running = fields.Integer(required=True, metadata=described("Its running jobs of the model."))
    runningByWeight = fields.Float(  # noqa: N815
        required=True,
        metadata=described("Divided by its weight. A tenant at the `share` of the choice is passed over."),
    )
    servedByWeight = fields.Float(  # noqa: N815
        required=True,
        metadata=described("The tokens that it was served, divided by its weight. The least goes next."),
    )
    maxRunning = fields.Integer(  # noqa: N815
        required=True, metadata=described("The most jobs that it may run at once; 0: no bound.")
    )
    runningOnAllModels = fields.Integer(required=True)  # noqa: N815
    mayTakeSlot = fields.Boolean(  # noqa: N815
        required=True,
        metadata=described("False at its bound, or while the free slots are kept from its job."),
    )


class CachedPromptObject(marshmallow.Schema):
    """What makes a job go next: a replica has a part of its prompt in its cache."""

    replica = fields.String(required=True)
    tokens = fields.Integer(
        required=True, metadata=described("The tokens that need not be computed, estimated.")
    )
    beforeId = fields.String(  # noqa: N815
        required=True, metadata=described("The job that fair share alone would choose.")
    )
    before = fields.Nested(JobTenant, required=True, metadata=described("The tenant of that job."))


class NextJobObject(marshmallow.Schema):
    """The job that goes next, as the queue stands."""

    id = fields.String(required=True)
    priority = fields.String(required=True)
    share = fields.Float(
        required=True,
        metadata=described("A tenant that runs so many jobs for its weight, or more, is passed over."),
    )
    onlyReserveIsFree = fields.Boolean(required=True)  # noqa: N815
    assumedEnds = fields.Integer(  # noqa: N815
        required=True,
        metadata=described("So many running jobs count as ended in these numbers: no slot is free before."),
    )
    tenant = fields.Nested(JobTenant, required=True)
    cached = fields.Nested(
        CachedPromptObject,
        required=True,
        allow_none=True,
        metadata=described("Null unless the job goes next for its cached prompt."),
    )


class JobDelay(marshmallow.Schema):
    """A job waits for the replica that has a part of its prompt in its cache, and no free slot."""

    replica = fields.String(required=True)
    tokens = fields.Integer(
        required=True, metadata=described("The tokens that need not be computed, estimated.")
    )
    leftMs = fields.Integer(  # noqa: N815
        required=True, metadata=described("After so many milliseconds it takes a slot of any replica.")
    )


class JobQueue(marshmallow.Schema):
    """Why a waiting job stands where it stands."""

    waitsFor = fields.String(  # noqa: N815
        required=True,
        allow_none=True,
        metadata=described("`waiting for a slot`, `model is loading 41 %`, ..."),
    )
    cause = fields.String(
        required=True,
        metadata=described("What decides that it waits.", enum=[str(cause) for cause in Cause]),
    )
    reason = fields.String(required=True, metadata=described("The same in words, with the numbers."))
    skips = fields.Dict(
        required=True,
        metadata=described("How often each priority was skipped; null while none of its jobs waits."),
    )
    mostSkips = fields.Dict(  # noqa: N815
        required=True, metadata=described("A lower priority that was skipped so often goes next.")
    )
    slots = fields.Integer(required=True)
    running = fields.Integer(required=True)
    reserveOneIn = fields.Integer(required=True, metadata=described("`queue.reserve_one_in`; 0: none."))  # noqa: N815
    backgroundReserve = fields.Integer(  # noqa: N815
        required=True, metadata=described("`queue.background_reserve`; 0: none.")
    )
    floor = fields.Float(
        required=True, metadata=described("The `servedByWeight` at which a tenant that was idle starts.")
    )
    jobsBefore = fields.Integer(  # noqa: N815
        required=True, metadata=described("Earlier jobs of the same tenant and priority.")
    )
    tenant = fields.Nested(JobTenant, required=True, metadata=described("The job's tenant."))
    next = fields.Nested(
        NextJobObject,
        required=True,
        allow_none=True,
        metadata=described("Null while no waiting tenant may take a slot."),
    )
    delay = fields.Nested(
        JobDelay,
        required=True,
        allow_none=True,
        metadata=described("Null unless the job waits for the replica that has its prompt."),
    )


class JobEnd(marshmallow.Schema):
    """How a job ended."""

    finishReason = fields.String(required=True, allow_none=True)  # noqa: N815
    code = fields.String(required=True, allow_none=True, metadata=described("The error's code."))
    inputTokens = fields.Integer(required=True, allow_none=True)  # noqa: N815
    outputTokens = fields.Integer(required=True, allow_none=True)  # noqa: N815
    cachedTokens = fields.Integer(required=True, allow_none=True)  # noqa: N815


class JobDetails(JobObject):
    """A job, and why it waits or how it ended."""

    queue = fields.Nested(JobQueue, required=True, allow_none=True)
    end = fields.Nested(JobEnd, required=True, allow_none=True)
