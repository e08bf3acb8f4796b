"""Why a waiting job stands where it stands: what the next job is chosen by, and the reason in words.

The numbers are those of `explain_job`; README.md, "Which job is next", has the rules.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler.job_listing import JobView, parse_row
from store.calls import Call

EXPLANATION_LIMIT = 100
"""So many running jobs, and somewhat more tenants of each priority, are read."""


class Cause(enum.StrEnum):
    """What decides that a job waits, or goes next."""

    NEXT = "next"
    NO_SLOTS = "no_slots"
    MAX_RUNNING = "max_running"
    RESERVE = "reserve"
    BACKGROUND_RESERVE = "background_reserve"
    NO_TENANT = "no_tenant"
    PRIORITY = "priority"
    LOCALITY = "locality"
    DELAYED = "delayed"
    EARLIER_JOB = "earlier_job"
    SHARE = "share"
    SERVED = "served"


@dataclass(frozen=True, slots=True)
class TenantNumbers:
    """What a tenant is compared by. `max_running` 0: no bound; `running_in_all` counts all models for it.

    `obstacle` is why it may take no slot: `max_running`, `reserve`, `background_reserve`,
    or "".

    `served` is the tokens that it was served, divided by its weight: its place among the waiting tenants.
    """

    tenant: str
    weight: float
    max_running: int
    running: int
    running_in_all: int
    served: float
    obstacle: str

    @property
    def may_take_slot(self) -> bool:
        """Whether it may take a slot."""
        return not self.obstacle

    @property
    def runs_by_weight(self) -> float:
        """Its running jobs, divided by its weight."""
        return self.running / self.weight


@dataclass(frozen=True, slots=True)
class CachedPrompt:
    """What makes a job go next: a `replica` has so many `tokens` of its prompt in its cache.

    Else the job `before_id`, of the tenant `before`, would go next.
    """

    replica: str
    tokens: int
    before_id: str
    before: TenantNumbers


@dataclass(frozen=True, slots=True)
class NextJob:
    """The job that goes next. A tenant with `share` running jobs for its weight, or more, is passed over.

    `assumed_ends`: so many running jobs, the oldest dispatches first, were taken as ended in the numbers,
    since no slot is free before. `cached` is None unless the job goes next for its cached prompt.
    """

    id: str
    priority: str
    share: float
    only_reserve_is_free: bool
    assumed_ends: int
    tenant: TenantNumbers
    cached: CachedPrompt | None = None

    @property
    def fair(self) -> TenantNumbers:
        """The tenant that goes next by fair share alone."""
        return self.tenant if self.cached is None else self.cached.before


@dataclass(frozen=True, slots=True)
class Delay:
    """A job waits for the `replica` that has so many `tokens` of its prompt, for `left_s` seconds at most."""

    replica: str
    tokens: int
    left_s: float


@dataclass(frozen=True, slots=True)
class Choice:
    """The numbers of a choice. `skips` is by priority, of those with waiting jobs.

    A priority that was skipped as often as `max_skips` says goes next.

    `floor` is the level at which an idle tenant starts, `jobs_before` the jobs of the same tenant and
    priority that stand before the job, `own` its tenant. `next_job` is None when no waiting tenant may take a
    slot, `delay` unless the job waits for one replica.
    """

    skips: dict[str, int]
    max_skips: dict[str, int]
    slots: int
    running: int
    reserve_one_in: int
    background_reserve: int
    floor: float
    jobs_before: int
    own: TenantNumbers
    next_job: NextJob | None
    delay: Delay | None = None


@dataclass(frozen=True, slots=True)
class JobExplanation:
    """A job, the terminal event of one that has ended, and the choice that a waiting one waits for."""

    now: float
    job: JobView
    end: bytes
    choice: Choice | None


def explain_job(id: str) -> Call[JobExplanation | None]:
    """Return a job, and why it waits; None for an unknown one."""
    return Call("explain_job", {"id": id, "limit": EXPLANATION_LIMIT}, _parse_explanation)


def _parse_explanation(reply: Sequence[Any]) -> JobExplanation | None:
    if not reply:
        return None
    now_us, row, end, choice, delay = reply
    found = _parse_choice(choice, _parse_delay(*delay, now_us=now_us) if delay else None) if choice else None
    return JobExplanation(float(now_us) / 1e6, parse_row(row), end, found)


def _parse_delay(replica: bytes, tokens: bytes, until_us: bytes, *, now_us: bytes) -> Delay:
    return Delay(replica.decode(), int(tokens), max(0.0, (float(until_us) - float(now_us)) / 1e6))


def _parse_choice(reply: Sequence[Any], delay: Delay | None) -> Choice:
    skips, slots, running, reserve, background_reserve, floor, before, own, following = reply
    priorities = [name.decode() for name in skips[::3]]
    counts = zip(priorities, skips[1::3], strict=True)
    return Choice(
        skips={priority: int(count) for priority, count in counts if count != b""},
        max_skips={priority: int(most) for priority, most in zip(priorities, skips[2::3], strict=True)},
        slots=int(slots),
        running=int(running),
        reserve_one_in=int(reserve),
        background_reserve=int(background_reserve),
        floor=float(floor),
        jobs_before=int(before),
        own=_parse_tenant(own),
        next_job=_parse_next(following) if following else None,
        delay=delay,
    )


def _parse_tenant(values: Sequence[Any]) -> TenantNumbers:
    name, weight, bound, running, in_all, served, obstacle = values
    return TenantNumbers(
        name.decode(),
        float(weight),
        int(bound),
        int(running),
        int(in_all),
        float(served),
        obstacle.decode(),
    )


def _parse_next(values: Sequence[Any]) -> NextJob:
    id, priority, share, only_reserve, ends, tenant, cached = values
    return NextJob(
        id.decode(),
        priority.decode(),
        float(share),
        bool(only_reserve),
        int(ends),
        _parse_tenant(tenant),
        _parse_cached(*cached) if cached else None,
    )


def _parse_cached(replica: bytes, tokens: bytes, before_id: bytes, before: Sequence[Any]) -> CachedPrompt:
    return CachedPrompt(replica.decode(), int(tokens), before_id.decode(), _parse_tenant(before))


def cause_of(job: JobView, choice: Choice) -> Cause:
    """What decides that this waiting job goes next, or that another one does."""
    own, following = choice.own, choice.next_job
    if choice.delay is not None:
        return Cause.DELAYED
    if not choice.slots:
        return Cause.NO_SLOTS
    if following is not None and following.id == job.id:
        return Cause.NEXT
    if not own.may_take_slot:
        return Cause(own.obstacle)
    return Cause.NO_TENANT if following is None else _what_prefers(following, job, own)


def _what_prefers(following: NextJob, job: JobView, own: TenantNumbers) -> Cause:
    """What decides that another job goes next, where both tenants may take a slot."""
    if following.priority != job.priority:
        return Cause.PRIORITY
    cached = following.cached
    if cached is not None and (cached.before_id == job.id or following.tenant.tenant == own.tenant):
        return Cause.LOCALITY
    if following.fair.tenant == own.tenant:
        return Cause.EARLIER_JOB
    return Cause.SHARE if own.runs_by_weight >= following.share else Cause.SERVED


def reason_in_words(job: JobView, choice: Choice) -> str:
    """Why the job goes next, or waits, in sentences."""
    cause, following = cause_of(job, choice), choice.next_job
    if cause in _WORDS or following is None:
        return _WORDS[cause](choice)
    return _WORDS_WITH_NEXT[cause](job, choice, following)


def _no_slots(_choice: Choice) -> str:
    return "No replica of the model accepts requests at the moment."


def _no_tenant(_choice: Choice) -> str:
    return "No waiting tenant may take a slot at the moment."


def _max_running(choice: Choice) -> str:
    own = choice.own
    return (
        f"The tenant runs {_count(own.running_in_all, 'job')} on all models, and may run {own.max_running} at"
        " once: its jobs wait until one of them ends."
    )


def _reserve(choice: Choice) -> str:
    return (
        f"Only the reserve is free: one slot in {choice.reserve_one_in} is kept for tenants that run nothing"
        f" on the model, and this tenant runs {_count(choice.own.running, 'job')} there."
    )


def _background_reserve(choice: Choice) -> str:
    count = choice.background_reserve
    slots = "free slot" if count == 1 else f"{count} free slots"
    return (
        f"A tenant that runs jobs on the model leaves the last {slots} to others than its background jobs,"
        f" and this tenant runs {_count(choice.own.running, 'job')} there."
    )


def _next(_job: JobView, choice: Choice, following: NextJob) -> str:
    sentences = ["It goes next."]
    if following.cached is not None:
        return f"It goes next. {_cached(following.cached)} Fair share alone would choose another job."
    if len(choice.skips) > 1:
        skipped, most = choice.skips.get(following.priority, 0), choice.max_skips[following.priority]
        if following.priority != "high" and skipped >= most:
            sentences.append(f"Its priority was skipped {skipped} times, and goes next after {most}.")
        else:
            sentences.append("No higher priority may take a slot, and no lower one was skipped too often.")
    sentences.append(
        "Of the tenants that run less than their share of the slots, its tenant was served least:"
        f" {following.tenant.served:.0f} tokens for each unit of weight."
    )
    if following.assumed_ends:
        sentences.append("It gets the slot of the next job that ends.")
    return " ".join(sentences)


def _priority(job: JobView, choice: Choice, following: NextJob) -> str:
    chosen, order = following.priority, list(choice.max_skips)
    if order.index(chosen) > order.index(job.priority):
        return (
            f"Priority {chosen} goes next, since it was skipped {choice.skips.get(chosen, 0)} times; after"
            f" {choice.max_skips[chosen]} it goes before {job.priority}."
        )
    return (
        f"Priority {chosen} goes before {job.priority}, which was skipped"
        f" {choice.skips.get(job.priority, 0)} times, and goes next after {choice.max_skips[job.priority]}."
    )


def _locality(_job: JobView, _choice: Choice, following: NextJob) -> str:
    return (
        f"{following.id} goes next. {_cached(following.cached)} A job that fair share chooses goes before"
        " such jobs once it has waited for a second and for four times the average wait."
    )


def _delayed(choice: Choice) -> str:
    delay = choice.delay
    if delay is None:
        return ""
    return (
        f"It waits for the replica {delay.replica}, which has about {delay.tokens} tokens of its prompt in"
        f" its cache, and no free slot. After {delay.left_s:.1f} seconds it takes a slot of any replica."
    )


def _by_fair_share(tenant: str, following: NextJob) -> str:
    """That a tenant goes next, or would without a job whose prompt is cached."""
    if following.cached is None:
        return f"{tenant} goes next"
    return f"{following.tenant.tenant} goes next for a cached prompt; by fair share {tenant} would"


def _cached(cached: CachedPrompt | None) -> str:
    if cached is None:
        return ""
    return f"The replica {cached.replica} has about {cached.tokens} tokens of its prompt in its cache."


def _earlier_job(_job: JobView, choice: Choice, following: NextJob) -> str:
    before = choice.jobs_before
    return (
        f"{_by_fair_share('Its tenant', following)}, with an earlier job: {_count(before, 'job')} of the same"
        f" tenant and priority {'stands' if before == 1 else 'stand'} before it."
    )


def _share(_job: JobView, choice: Choice, following: NextJob) -> str:
    own = choice.own
    return (
        f"The tenant runs its share of the slots already: {_count(own.running, 'job')} for weight"
        f" {own.weight:g} are {own.runs_by_weight:.2f} for each unit of weight, and from"
        f" {following.share:.2f} on another waiting tenant goes first."
        f" {_by_fair_share(following.fair.tenant, following)}."
    )


def _served(_job: JobView, choice: Choice, following: NextJob) -> str:
    return (
        f"{_by_fair_share(following.fair.tenant, following)}, since it was served less:"
        f" {following.fair.served:.0f} tokens for each unit of weight, against {choice.own.served:.0f}."
    )


_WORDS: dict[Cause, Callable[[Choice], str]] = {
    Cause.NO_SLOTS: _no_slots,
    Cause.NO_TENANT: _no_tenant,
    Cause.MAX_RUNNING: _max_running,
    Cause.RESERVE: _reserve,
    Cause.BACKGROUND_RESERVE: _background_reserve,
    Cause.DELAYED: _delayed,
}
_WORDS_WITH_NEXT: dict[Cause, Callable[[JobView, Choice, NextJob], str]] = {
    Cause.NEXT: _next,
    Cause.PRIORITY: _priority,
    Cause.LOCALITY: _locality,
    Cause.EARLIER_JOB: _earlier_job,
    Cause.SHARE: _share,
    Cause.SERVED: _served,
}


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
