"""A job waits for the replica that has its prompt, rather than computing the prompt on another one."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import redis

from config.limits import limits_of
from config.settings import QueueSettings, Settings, Tenant
from generation.prefix_keys import PrefixKey
from governance.authorization import ADMIN_KEY, Authorization
from scheduler.job import Status
from scheduler.queue_choice import Cause, cause_of, reason_in_words
from store.errors import Rejected
from tests.support.ledger_invariants import check
from tests.support.redis_snapshot import History, take_snapshot
from tests.support.simulated_platform import LONG_LEASE
from tests.support.stopped_platform import StoppedPlatform

CACHED = 3_000
"""The tokens of a chat's prompt."""

TOKEN_MS = 1
"""A replica computes a token of a prompt in so many milliseconds: a whole prompt takes three seconds."""

NO_LIMITS = limits_of(Tenant("any"), Settings())
OPERATOR = Authorization("acme", ADMIN_KEY)


class Chats(StoppedPlatform):
    """Replicas that have measured how long prompts take."""

    def __init__(self, client: redis.Redis, settings: Settings, replicas: int = 2, slots: int = 1) -> None:
        super().__init__(client, replace(settings, lease=LONG_LEASE))
        for number in range(1, replicas + 1):
            self.register(f"w{number}")
        self.replicas = self.load(replicas=replicas, slots=slots)

    def ask(self, chat: int | None = None, tenant: str = "acme", **more: object) -> str:
        keys: list[PrefixKey] = [] if chat is None else [(bytes([chat]) * 8, CACHED)]
        return self.admit(tenant, prefix_keys=keys, **{"locality": "fair", "cost": 4_000, **more})

    def replica_of(self, id: str) -> str:
        return self.field(id, "replica")

    def finish(self, id: str, computed: int = CACHED, first_ms: int | None = None) -> None:
        """End a running job of whose prompt so many tokens were computed."""
        claim = self.run(id, self.field(id, "worker"))
        usage = f'{{"input_tokens":{CACHED},"output_tokens":1,"cached_tokens":{CACHED - computed}}}'
        first_ms = computed * TOKEN_MS if first_ms is None else first_ms
        self.release(claim, usage=usage, tokens=CACHED + 1, first_ms=first_ms)

    def begin(self, *chats: int) -> list[str]:
        """Run a turn of each chat on a replica of its own, then let the first turns after them run there."""
        first = [self.ask(chat) for chat in chats]
        assert len({self.replica_of(id) for id in first}) == len(chats)
        for id in first:
            self.finish(id)
        return [self.ask(chat) for chat in chats]

    def drain(self, worker: str) -> bool:
        """Begin or end a drain; returns whether the worker drains now."""
        self.stop_clock()
        begins = self.fleet.drains.begin(worker, OPERATOR)
        if not begins:
            self.fleet.drains.end(worker, OPERATOR)
        return begins

    def measure(self, **numbers: int) -> None:
        """Set what was measured: `run_ms`, `token_us`, `floor`."""
        fields = {f"@{name}": number for name, number in numbers.items()}
        self.client.hset(f"{self.prefix}served:alpha", mapping=fields)  # type: ignore[arg-type]

    def measured(self, name: str) -> int:
        return int(self.client.hget(f"{self.prefix}served:alpha", f"@{name}") or 0)

    def served(self, tenant: str = "acme") -> float:
        return float(self.client.hget(f"{self.prefix}served:alpha", tenant) or 0)

    def delayed(self) -> list[str]:
        members = self.client.zrange(f"{self.prefix}delayed:alpha", 0, -1)
        return [member.decode().split(" ")[2] for member in members]  # type: ignore[union-attr]

    def other(self, replica: str) -> str:
        (name,) = set(self.replicas) - {replica}
        return name


def with_queue(settings: Settings, **more: int) -> Settings:
    return replace(settings, queue=QueueSettings(**{"max_depth": 1000, "max_depth_per_tenant": 1000, **more}))


@pytest.fixture
def chats(client: redis.Redis, settings: Settings) -> Chats:
    """Two replicas with a slot each."""
    return Chats(client, with_queue(settings))


def test_a_job_waits_for_the_replica_that_has_its_prompt_when_another_one_is_free(chats: Chats) -> None:
    (running,) = chats.begin(1)
    waiting = chats.ask(1)
    assert (chats.status(waiting), chats.delayed()) == ("queued", [waiting])
    assert chats.waiting() == [waiting]
    chats.finish(running, computed=0)
    assert (chats.status(waiting), chats.delayed()) == ("running", [])
    assert chats.replica_of(waiting) == chats.replica_of(running)


def test_a_job_takes_any_slot_when_its_delay_is_over(chats: Chats) -> None:
    (running,) = chats.begin(1)
    waiting = chats.ask(1)
    chats.advance_time(2.9)
    chats.expire()
    assert chats.status(waiting) == "queued"
    chats.advance_time(0.2)
    chats.expire()
    assert chats.replica_of(waiting) == chats.other(chats.replica_of(running))
    assert chats.delayed() == []


def test_no_job_is_delayed_twice(chats: Chats) -> None:
    (running,) = chats.begin(1)
    delayed, cold, high = chats.ask(1), chats.ask(), chats.ask(priority="high")
    chats.advance_time(2.9)
    chats.finish(running, computed=0)
    assert chats.replica_of(high) == chats.replica_of(running)
    assert chats.delayed() == [delayed]
    chats.advance_time(0.2)
    chats.expire()
    assert (chats.delayed(), chats.status(delayed)) == ([], "queued"), "it waits for any slot"
    chats.finish(cold)
    assert chats.replica_of(delayed) == chats.other(chats.replica_of(running))


def test_a_job_that_arrives_takes_the_slot_that_a_delayed_one_leaves(chats: Chats) -> None:
    (running,) = chats.begin(1)
    waiting = chats.ask(1)
    cold = chats.ask()
    assert chats.replica_of(cold) == chats.other(chats.replica_of(running))
    assert chats.delayed() == [waiting]


def test_the_tenant_of_a_delayed_job_is_charged_until_its_end(chats: Chats) -> None:
    chats.begin(1)
    before = chats.served()
    waiting = chats.ask(1)
    charged = 4_000 - 0.9 * CACHED  # a token of a cached prompt counts a tenth
    assert chats.served() == pytest.approx(before + charged)
    chats.ledger.cancel(waiting, "acme")
    assert chats.served() == pytest.approx(before)
    assert (chats.status(waiting), chats.delayed()) == ("cancelled", [])


def test_a_delayed_job_is_charged_once_when_it_starts(chats: Chats) -> None:
    (running,) = chats.begin(1)
    delayed = chats.ask(1)
    before = chats.served()
    chats.finish(running, computed=0)
    settled = chats.served() - before  # of the job that ended
    assert chats.status(delayed) == "running"
    chats.finish(delayed, computed=0)
    assert chats.served() - before == pytest.approx(2 * settled)


@pytest.mark.parametrize("others", [0, 1])
def test_a_delayed_job_leaves_its_tenant_the_credit_that_it_has(chats: Chats, others: int) -> None:
    """The level of idle tenants rises meanwhile."""
    (running,) = chats.begin(1)
    delayed = chats.ask(1)
    cold = [chats.ask(tenant="busy") for _ in range(1 + others)]
    chats.measure(floor=50_000)
    chats.finish(running, computed=0)
    assert (chats.status(delayed), chats.status(cold[-1])) == ("running", "queued" if others else "running")
    assert chats.served() < 50_000


def test_a_job_that_returns_to_the_queue_leaves_its_tenant_the_credit_that_it_has(chats: Chats) -> None:
    chats.begin(1)
    delayed = chats.ask(1)
    chats.ask(tenant="busy")
    chats.measure(floor=50_000)
    chats.advance_time(3.1)
    chats.expire()
    assert chats.waiting() == [delayed]
    score = chats.client.zscore(f"{chats.prefix}fair_share:alpha:normal", "acme")
    assert score == pytest.approx(chats.served())
    assert chats.served() < 50_000


@pytest.mark.parametrize(("limit_s", "is_delayed"), [(5.9, False), (6.1, True)])
def test_a_job_is_delayed_when_half_of_its_time_remains(
    chats: Chats, limit_s: float, is_delayed: bool
) -> None:
    chats.begin(1)
    job = chats.ask(1, time_limit_ms=round(1_000 * limit_s))
    assert (chats.delayed() == [job]) is is_delayed
    assert chats.status(job) == ("queued" if is_delayed else "running")


def test_no_job_is_delayed_beyond_half_of_the_time_that_it_may_wait(
    client: redis.Redis, settings: Settings
) -> None:
    chats = Chats(client, with_queue(settings, timeout_ms=5_900))
    chats.begin(1)
    assert chats.status(chats.ask(1)) == "running"


def test_a_delayed_job_fails_when_its_own_time_is_over(chats: Chats) -> None:
    chats.begin(1)
    delayed = chats.ask(1, time_limit_ms=6_100)
    chats.client.zadd(f"{chats.prefix}deadlines", {delayed: 1})
    chats.expire()
    assert (chats.end(delayed).code, chats.delayed()) == ("queue_timeout", [])


def test_the_delayed_jobs_of_a_drained_worker_take_slots_of_others(chats: Chats) -> None:
    (running,) = chats.begin(1)
    waiting = chats.ask(1)
    assert chats.drain(chats.field(running, "worker"))
    chats.advance_time(0.1)
    chats.expire()
    assert chats.replica_of(waiting) == chats.other(chats.replica_of(running))


def test_the_delayed_jobs_of_a_crashed_replica_take_slots_of_others(chats: Chats) -> None:
    (running,) = chats.begin(1)
    waiting, replica = chats.ask(1), chats.replica_of(running)
    chats.crash(replica, chats.field(running, "worker"))
    assert {chats.status(waiting), chats.status(running)} == {"running", "queued"}
    assert chats.delayed() == []


def test_the_delayed_jobs_of_a_replica_that_is_released_take_slots_of_others(chats: Chats) -> None:
    (running,) = chats.begin(1)
    delayed = chats.ask(1)
    chats.client.hset(f"{chats.prefix}model:alpha", "least", 1)
    chats.stop_clock()
    answer = chats.fleet.scripts.run(
        "release_replica", model="alpha", wanted=2, replica=chats.replica_of(running), reason="quiet"
    )
    assert answer[0] == b"ok"
    chats.advance_time(0.1)
    chats.expire()
    assert chats.replica_of(delayed) == chats.other(chats.replica_of(running))


def test_an_operator_cancels_the_delayed_jobs_of_a_tenant(chats: Chats) -> None:
    (running,) = chats.begin(1)
    waiting = chats.ask(1)
    chats.ledger.cancel_tenant("acme", "alpha")
    chats.expire()
    assert (chats.status(waiting), chats.status(running), chats.delayed()) == ("cancelled", "running", [])


@pytest.mark.parametrize("locality", ["off", "tenant"])
def test_no_job_is_delayed_when_the_model_does_not_choose_by_all_tenants(chats: Chats, locality: str) -> None:
    (running,) = chats.begin(1)
    job = chats.ask(1, locality=locality)
    assert chats.replica_of(job) == chats.other(chats.replica_of(running))


def test_no_job_is_delayed_when_runs_take_longer_than_its_prompt(chats: Chats) -> None:
    (running,) = chats.begin(1)
    chats.measure(run_ms=1_500)
    job = chats.ask(1)
    assert chats.replica_of(job) == chats.other(chats.replica_of(running))


def test_a_job_is_delayed_when_its_replica_frees_a_slot_in_half_of_the_time(chats: Chats) -> None:
    chats.begin(1)
    chats.measure(run_ms=1_499)
    waiting = chats.ask(1)
    assert chats.delayed() == [waiting]


def test_no_job_is_delayed_when_its_replica_runs_a_long_job(chats: Chats) -> None:
    """However short the runs of others are: one that has run for 1.6 s takes twice as long, on average."""
    (running,) = chats.begin(1)
    chats.measure(run_ms=1)
    chats.advance_time(1.6)
    job = chats.ask(1)
    assert chats.replica_of(job) == chats.other(chats.replica_of(running))


def test_a_job_is_not_delayed_behind_others_when_that_takes_too_long(chats: Chats) -> None:
    (running,) = chats.begin(1)
    chats.measure(run_ms=800)
    first, second = chats.ask(1), chats.ask(1)
    assert chats.delayed() == [first], "two runs take 1.6 s"
    assert chats.replica_of(second) == chats.other(chats.replica_of(running))


def test_no_job_is_delayed_when_its_replica_has_a_free_slot(client: redis.Redis, settings: Settings) -> None:
    chats = Chats(client, with_queue(settings), slots=2)
    keys = [(b"shortone", 900)]  # worth less than the load of one of two slots
    first = chats.admit(prefix_keys=keys)
    chats.finish(first)
    running, other = (chats.admit(prefix_keys=keys) for _ in range(2))
    assert chats.replica_of(running) == chats.other(chats.replica_of(other))
    assert chats.delayed() == []


def test_a_model_has_at_most_32_delayed_jobs(chats: Chats) -> None:
    tenants = [f"tenant-{number}" for number in range(5)]
    blocker = chats.ask()
    for tenant in tenants:
        chats.finish(chats.ask(1, tenant))
    running = chats.ask(1, tenants[0])
    chats.finish(blocker, computed=0)
    chats.measure(run_ms=1, token_us=3_000)
    jobs = [chats.ask(1, tenant) for tenant in tenants for _ in range(8)][:33]
    assert chats.delayed() == jobs[:32]
    assert chats.replica_of(jobs[32]) == chats.other(chats.replica_of(running))


def test_a_tenant_has_at_most_8_delayed_jobs_of_a_model(chats: Chats) -> None:
    chats.begin(1)
    chats.measure(run_ms=1)
    jobs = [chats.ask(1) for _ in range(9)]
    assert chats.delayed() == jobs[:8]
    assert chats.status(jobs[8]) == "running"


def test_a_job_waits_ten_seconds_at_most(chats: Chats) -> None:
    (running,) = chats.begin(1)
    chats.measure(token_us=7_000)
    waiting = chats.ask(1)
    chats.advance_time(10.01)
    chats.expire()
    assert chats.replica_of(waiting) == chats.other(chats.replica_of(running))


def test_no_job_is_delayed_when_the_free_replica_has_most_of_its_prompt(chats: Chats) -> None:
    short: list[PrefixKey] = [(b"together", CACHED - 100)]
    whole: list[PrefixKey] = [*short, (b"own part", CACHED)]
    first, second = chats.admit(prefix_keys=short), chats.admit(prefix_keys=whole)
    for id in (first, second):
        chats.finish(id)
    chats.measure(run_ms=100)
    running, job = chats.admit(prefix_keys=whole), chats.admit(prefix_keys=whole)
    assert chats.replica_of(running) == chats.replica_of(second)
    assert chats.replica_of(job) == chats.replica_of(first), "100 tokens are not worth a run"


def test_a_full_queue_delays_no_job(client: redis.Redis, settings: Settings) -> None:
    chats = Chats(client, with_queue(settings, max_depth=1))
    (running,) = chats.begin(1)
    first, second = chats.ask(1), chats.ask(1)
    assert chats.delayed() == [first]
    assert chats.replica_of(second) == chats.other(chats.replica_of(running))
    with pytest.raises(Rejected, match="Queue depth 1/1"):
        chats.ask()


def test_a_slot_goes_to_a_waiting_job_of_a_higher_priority_before_a_delayed_one(chats: Chats) -> None:
    (running,) = chats.begin(1)
    delayed = chats.ask(1)
    cold, high = chats.ask(), chats.ask(priority="high")
    assert (chats.status(cold), chats.status(high)) == ("running", "queued")
    chats.finish(running, computed=0)
    assert (chats.status(high), chats.status(delayed)) == ("running", "queued")
    chats.finish(high)
    assert chats.status(delayed) == "running"


def test_a_slot_goes_to_a_delayed_job_of_a_higher_priority_before_a_waiting_one(chats: Chats) -> None:
    """However much its tenant was served, and however long the other one has waited."""
    (running,) = chats.begin(1)
    delayed = chats.ask(1, priority="high")
    chats.ask(tenant="busy")
    queued = chats.ask(tenant="poor")
    chats.client.hincrbyfloat(f"{chats.prefix}served:alpha", "acme", 100_000)
    chats.advance_time(2.5)
    chats.finish(running, computed=0)
    assert (chats.status(delayed), chats.status(queued)) == ("running", "queued")
    assert chats.measured("normal") == 1, "it was skipped"


def test_a_slot_goes_to_a_lower_priority_that_is_due_before_a_delayed_job(chats: Chats) -> None:
    (running,) = chats.begin(1)
    delayed = chats.ask(1, priority="high")
    chats.ask(tenant="busy")
    queued = chats.ask(tenant="poor")
    chats.measure(normal=4)
    chats.finish(running, computed=0)
    assert (chats.status(delayed), chats.status(queued)) == ("queued", "running")


def test_a_delayed_job_goes_before_one_of_the_queue_within_the_deficit(chats: Chats) -> None:
    (running,) = chats.begin(1)
    delayed = chats.ask(1)
    cold, queued = chats.ask(), chats.ask(tenant="poor")
    assert (chats.status(cold), chats.status(queued)) == ("running", "queued")
    chats.finish(running, computed=0)
    assert (chats.status(delayed), chats.status(queued)) == ("running", "queued")


def test_a_delayed_job_goes_behind_one_of_the_queue_beyond_the_deficit(chats: Chats) -> None:
    (running,) = chats.begin(1)
    delayed = chats.ask(1)
    chats.ask()
    chats.client.hincrbyfloat(f"{chats.prefix}served:alpha", "acme", 100_000)
    queued = chats.ask(tenant="poor")
    chats.finish(running, computed=0)
    assert (chats.status(delayed), chats.status(queued)) == ("queued", "running")


def test_a_delayed_job_of_a_tenant_at_its_bound_starts_when_one_of_its_jobs_ends(
    client: redis.Redis, settings: Settings
) -> None:
    chats = Chats(client, with_queue(settings), slots=2)
    (first,) = chats.begin(1)
    second = chats.ask(1)
    assert chats.replica_of(second) == chats.replica_of(first)
    delayed, cold = chats.ask(1), chats.ask()
    assert (chats.delayed(), chats.status(cold)) == ([delayed], "running")
    chats.ask(limits=replace(NO_LIMITS, max_running=1))  # from now on it may run one job
    for id in (first, second):
        chats.finish(id, computed=0)
        assert chats.delayed() == [delayed]
    chats.finish(cold)
    assert chats.delayed() == []


def test_the_end_of_a_job_on_another_model_starts_a_delayed_one_of_a_tenant_at_its_bound(
    chats: Chats,
) -> None:
    limits = replace(NO_LIMITS, max_running=1)
    (first,) = chats.begin(1)
    delayed = chats.ask(1)
    chats.load("beta")
    elsewhere = chats.admit(model="beta", limits=limits)
    queued = chats.ask(limits=limits)
    chats.ledger.cancel(queued, "acme")
    chats.client.delete(f"{chats.prefix}held:acme")  # it has the model for that one
    chats.finish(first, computed=0)
    assert chats.delayed() == [delayed]
    chats.release(chats.run(elsewhere, chats.field(elsewhere, "worker")))
    assert (chats.delayed(), chats.status(delayed)) == ([], "running")


def test_the_time_of_a_token_is_measured_by_long_prompts(chats: Chats) -> None:
    (running,) = chats.begin(1)
    assert chats.measured("token_us") == 1_000 * TOKEN_MS
    chats.finish(running, computed=255, first_ms=10_000)
    assert chats.measured("token_us") == 1_000 * TOKEN_MS, "in a short one other things take the time"
    chats.finish(chats.ask(1), first_ms=10 * CACHED * TOKEN_MS)
    assert chats.measured("token_us") == 1_200 * TOKEN_MS, "a fifth of at most twice the average"
    chats.finish(chats.ask(1), computed=500, first_ms=500 * 2_400 // 1_000)
    assert chats.measured("token_us") == 1_260 * TOKEN_MS, "a shorter one counts less"


def test_the_time_of_a_delay_is_no_average_wait(chats: Chats) -> None:
    (running,) = chats.begin(1)
    before = chats.measured("wait_ms")
    delayed = chats.ask(1)
    chats.advance_time(1)
    chats.finish(running, computed=0)
    assert (chats.status(delayed), chats.measured("wait_ms")) == ("running", before)


def test_delayed_jobs_count_for_the_longest_queue_of_their_tenant(
    client: redis.Redis, settings: Settings
) -> None:
    chats = Chats(client, with_queue(settings, max_depth_per_tenant=2))
    chats.begin(1)
    chats.ask(1)
    chats.ask(tenant="busy")
    chats.ask()
    with pytest.raises(Rejected):
        chats.ask()
    chats.ask(tenant="busy")


def test_a_delayed_job_is_explained_and_listed(chats: Chats) -> None:
    (running,) = chats.begin(1)
    delayed = chats.ask(1)
    found = chats.ledger.explain_job(delayed)
    assert found is not None
    assert found.choice is not None
    assert cause_of(found.job, found.choice) is Cause.DELAYED
    reason = reason_in_words(found.job, found.choice)
    assert reason.startswith(
        f"It waits for the replica {chats.replica_of(running)}, which has about 3000 tokens"
    )
    queued = [chats.ask(tenant="poor"), chats.ask(tenant="poor")][1]
    for tenant, ids in (("acme", [delayed]), ("poor", [queued]), (None, [delayed, queued])):
        page = chats.ledger.list_jobs("alpha", tenant=tenant, status=Status.QUEUED)
        assert [job.id for job in page.jobs] == ids
    listing = chats.ledger.queue_listing("alpha")
    assert listing.depth == 2
    assert {(row.tenant, row.depth) for row in listing.tenants if row.depth} == {
        ("acme", 1),
        ("poor", 1),
    }


def test_the_order_has_a_delayed_job_where_its_replica_frees_a_slot(chats: Chats) -> None:
    (running,) = chats.begin(1)
    delayed = chats.ask(1)
    cold = chats.ask(tenant="busy")
    queued = [chats.ask(tenant="poor") for _ in range(2)]
    assert chats.ledger.queue_order("alpha").ids == (delayed, *queued)
    chats.finish(running, computed=0)
    assert chats.status(delayed) == "running"
    assert chats.status(cold) == "running"


@pytest.mark.parametrize("seed", range(12))
def test_every_invariant_holds_while_jobs_are_delayed(
    client: redis.Redis, settings: Settings, seed: int
) -> None:
    draw = random.Random(seed)
    chats = Chats(client, with_queue(settings), replicas=3, slots=1 + seed % 2)
    history, delayed, before, ids = History(), 0, None, list[str]()
    for id in [chats.ask(chat, id=f"first{chat}") for chat in range(3)]:
        history.admitted[id] = "acme"
        chats.finish(id)
    for number in range(90):
        chats.measure(run_ms=100)
        running = [id for id in ids if chats.status(id) == "running"]
        happening = draw.choices(["ask", "finish", "pass", "cancel", "drain"], [8, 5, 2, 0.5, 0.2])[0]
        if happening == "ask":
            tenant = draw.choice(["acme", "other", "bound"])
            limits = replace(NO_LIMITS, max_running=1) if tenant == "bound" else NO_LIMITS
            id = chats.ask(
                draw.choice([0, 1, 1, 1, 2, None]),
                tenant,
                id=f"job{number}",
                limits=limits,
                priority=draw.choice(["high", "normal", "low"]),
            )
            ids.append(id)
            history.admitted[id] = tenant
        elif happening == "finish" and running:
            chats.finish(draw.choice(running), computed=draw.choice([0, CACHED]))
        elif happening == "pass":
            chats.run_for(draw.choice([0.1, 0.1, 3.5]), *chats.incarnations)
        elif happening == "cancel" and ids:
            chats.ledger.cancel(job := draw.choice(ids), history.admitted[job])
        elif happening == "drain":
            worker = draw.choice(list(chats.incarnations))
            begins = chats.drain(worker)
            (history.operator_drains.add if begins else history.operator_drains.discard)(worker)
        for worker in chats.incarnations:
            for claim in chats.claims(worker):
                history.claims.setdefault(claim.id, set()).add(claim.fence)
        now = take_snapshot(client, chats.prefix, history)
        now.now_us = chats.moment * 1e6
        now.before, before = before, now
        check(now)
        now.before = None
        delayed += len(now.all("delayed"))
    assert delayed, "some job was delayed"


@pytest.mark.parametrize("rest", ["ended", "deleted"])
@pytest.mark.parametrize("slot", ["freed", "late"])
def test_a_job_that_an_earlier_version_has_ended_is_delayed_no_more(
    chats: Chats, slot: str, rest: str
) -> None:
    """It ends the job, and leaves it in a key that it does not know."""
    (running,) = chats.begin(1)
    delayed = chats.ask(1)
    if rest == "deleted":
        chats.client.delete(f"{chats.prefix}job:{delayed}")
        chats.client.zrem(f"{chats.prefix}waiting:alpha", delayed)
    else:
        chats.client.hset(f"{chats.prefix}job:{delayed}", "status", "cancelled")
    listed = chats.ledger.list_jobs("alpha", tenant="acme", status=Status.QUEUED).jobs
    assert len(listed) == len(chats.waiting()) == chats.ledger.queue_listing("alpha").depth
    if slot == "freed":
        chats.finish(running, computed=0)
    else:
        chats.advance_time(3.1)
        chats.expire()
    chats.ledger.cancel_tenant("acme", "alpha")
    assert chats.status(delayed) == ("gone" if rest == "deleted" else "cancelled")
    assert (chats.delayed(), chats.waiting()) == ([], [])
