"""Webhooks, sent over HTTP to a server on the loopback interface, with their lists in a real Redis."""

from __future__ import annotations

import asyncio
import secrets
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import openai
import orjson
import pytest

from api.webhooks import sender as sender_module
from api.webhooks.sender import ADMISSION_S, WebhookSender
from api.webhooks.signing import event_id
from api.webhooks.store import Entry, TooManyWebhooks, WebhookStore
from api.webhooks.target_states import TargetState, TargetStates
from api.webhooks.targets import Target
from config.settings import WEBHOOK_EVENTS, Settings, WebhookSettings
from scheduler.job import Job, JobRow, Status
from store.async_connection import AsyncConnection
from store.redis_connections import command_client
from tests.support.waiting import scaled
from tests.support.webhook_receiver import Receiver

KEY = secrets.token_bytes(32)
SECRET = f"whsec_{b64encode(KEY).decode()}"
SETTINGS = WebhookSettings(allow_private=True)
MAX_PENDING = 5


@pytest.fixture(autouse=True)
def _short_delivery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender_module, "TIMEOUT_S", scaled(2.0))
    monkeypatch.setattr(sender_module, "MAX_ATTEMPTS", 3)


@dataclass
class Clock:
    """A time that a test sets."""

    now: float = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class Jobs:
    """The rows of the ledger that the sender looks up."""

    def __init__(self) -> None:
        self.status: dict[str, Status] = {}

    async def lookup(self, id: str, tenant: str) -> JobRow | None:
        status = self.status.get(id)
        if status is None or tenant != "one":
            return None
        return JobRow(id, tenant, "demo", "responses", status, b"{}", store=True, created_at=0.0)


def job(id: str, tenant: str = "one") -> Job:
    return Job(
        id, tenant, model="demo", weight=1.0, dialect="responses", generation=b"{}", echo=b"{}", cost=1
    )


def target(receiver: Receiver, name: str = "hook", events: tuple[str, ...] = WEBHOOK_EVENTS) -> Target:
    return Target(name, "one", receiver.url, events, (KEY,))


@dataclass
class World:
    """The parts that a test uses."""

    settings: Settings
    connection: AsyncConnection
    jobs: Jobs
    clock: Clock

    def sender(self, *targets: Target, settings: WebhookSettings = SETTINGS) -> WebhookSender:
        store = WebhookStore(self.connection, self.settings.redis.prefix, MAX_PENDING)
        named: Any = {target.name: target for target in targets}
        return WebhookSender(settings, named, store, self.jobs, "p", clock=self.clock)  # type: ignore[arg-type]

    async def send(self, sender: WebhookSender, after_s: float = 0.0) -> None:
        """One turn to make deliveries, and one to begin them, after this time."""
        self.clock.now += after_s
        await sender.turn()
        await sender.turn()
        await sender.finished()

    def state(self, name: str = "hook") -> TargetState:
        client = command_client(self.settings)
        return TargetStates(client, self.settings.redis.prefix, [name]).read()[name]

    async def left(self) -> int:
        keys = (await self.connection.exchange([("KEYS", "{" + self.settings.redis.prefix + "}:webhook*")]))[
            0
        ]
        return len([key for key in keys if not (b"webhook_sender" in key or b"webhook_state:" in key)])


def run(settings: Settings, check: Callable[[World], Awaitable[None]]) -> None:
    async def within() -> None:
        connection = AsyncConnection(settings)
        try:
            await check(World(settings, connection, Jobs(), Clock()))
        finally:
            await connection.close()

    asyncio.run(within())


@asynccontextmanager
async def closing(sender: WebhookSender) -> AsyncIterator[WebhookSender]:
    try:
        yield sender
    finally:
        await sender.close()


class OtherClock:
    """A connection to a Redis whose clock is so far ahead of that of this host."""

    def __init__(self, connection: AsyncConnection, ahead_s: int) -> None:
        self._connection = connection
        self._ahead_s = ahead_s

    async def exchange(self, commands: Any, **options: float) -> list[Any]:
        replies = await self._connection.exchange(commands, **options)
        for at, command in enumerate(commands):
            if command == ("TIME",):
                replies[at] = [int(replies[at][0]) + self._ahead_s, replies[at][1]]
        return replies


@pytest.mark.parametrize("ahead_s", [-3600, 3600])
def test_a_webhook_is_sent_when_it_is_due_by_the_clock_of_redis(
    shared_settings: Settings, ahead_s: int
) -> None:
    async def check(world: World) -> None:
        connection: Any = OtherClock(world.connection, ahead_s)
        store = WebhookStore(connection, shared_settings.redis.prefix)
        ((seconds, _),) = await connection.exchange([("TIME",)])
        now = int(seconds)
        for id, due in (("resp_now", now), ("resp_later", now + 1800)):
            entry = Entry(id, now)
            await store.deliver("tenant:one", entry, Entry(id, now, "response.completed", due), ["hook"])
        world.jobs.status["resp_1"] = Status.COMPLETED
        async with Receiver().served() as receiver:
            jobs: Any = world.jobs
            sender = WebhookSender(SETTINGS, {"hook": target(receiver)}, store, jobs, "p")
            sending = asyncio.create_task(sender.run())
            async with asyncio.timeout(scaled(10)):
                while not receiver.received:
                    await asyncio.sleep(0.01)
                await sender.enter(job("resp_1"))
                while len(receiver.received) < 2:
                    await asyncio.sleep(0.01)
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            assert receiver.ids == [event_id("resp_now"), event_id("resp_1")]

    run(shared_settings, check)


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled", "incomplete"])
def test_event_of_an_end_is_what_the_sdk_unwraps(shared_settings: Settings, status: str) -> None:
    async def check(world: World) -> None:
        async with Receiver().served() as receiver, closing(world.sender(target(receiver))) as sender:
            world.clock.now = time.time()
            await sender.enter(job("resp_1"))
            world.jobs.status["resp_1"] = Status.RUNNING
            await world.send(sender)
            assert not receiver.received
            world.jobs.status["resp_1"] = Status(status)
            await world.send(sender, after_s=5)
            ((headers, body),) = receiver.received
        with openai.OpenAI(api_key="k", webhook_secret=SECRET) as client:
            event: Any = client.webhooks.unwrap(body, headers)
            with pytest.raises(openai.InvalidWebhookSignatureError):
                client.webhooks.unwrap(body + b" ", headers)
        assert (event.type, event.object, event.data.id) == (f"response.{status}", "event", "resp_1")
        assert event.id == headers["webhook-id"]
        assert event.created_at == int(world.clock.now)
        assert await world.left() == 0

    run(shared_settings, check)


def test_delivery_that_ends_while_what_is_due_is_read_is_not_made_again(shared_settings: Settings) -> None:
    async def check(world: World) -> None:
        async with Receiver([500]).served() as receiver, closing(world.sender(target(receiver))) as sender:
            may_answer = receiver.may_answer = asyncio.Event()
            world.jobs.status["resp_1"] = Status.COMPLETED
            await sender.enter(job("resp_1"))
            await sender.turn()
            assert sender._sending
            due = sender._store.due

            async def slow(name: str, now: float, most: int) -> list[Any]:
                entries = await due(name, now, most)
                if name == "target:hook":
                    assert entries
                    may_answer.set()
                    await sender.finished()
                return entries

            sender._store.due = slow  # type: ignore[method-assign]
            await sender.turn()
            await sender.finished()
            assert len(receiver.received) == 1

    run(shared_settings, check)


def test_delivery_is_repeated_when_it_fails_and_survives_a_restart(shared_settings: Settings) -> None:
    async def check(world: World) -> None:
        async with Receiver([500, 307]).served() as receiver:
            world.jobs.status["resp_1"] = Status.COMPLETED
            async with closing(world.sender(target(receiver))) as first:
                await first.enter(job("resp_1"))
                await world.send(first)
                await world.send(first, after_s=3)  # too early
                assert len(receiver.received) == 1
            async with closing(world.sender(target(receiver))) as second:
                await world.send(second, after_s=4)
                assert len(receiver.received) == 2  # the redirect is not followed
                await world.send(second, after_s=40)
            assert len(receiver.received) == 3
            assert len(set(receiver.ids)) == 1
            assert await world.left() == 0

    run(shared_settings, check)


@pytest.mark.parametrize(("statuses", "attempts"), [([500] * 9, 3), ([410], 1)])
def test_delivery_is_given_up_after_its_last_attempt(
    shared_settings: Settings, statuses: list[int], attempts: int
) -> None:
    async def check(world: World) -> None:
        async with Receiver(statuses).served() as receiver, closing(world.sender(target(receiver))) as sender:
            world.jobs.status["resp_1"] = Status.COMPLETED
            await sender.enter(job("resp_1"))
            for _ in range(5):
                await world.send(sender, after_s=5000)
            assert len(receiver.received) == attempts
            assert await world.left() == 0

    run(shared_settings, check)


def test_a_target_that_fails_is_logged_once_and_its_recovery_once(
    shared_settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    async def check(world: World) -> None:
        async with Receiver([500, 302]).served() as receiver:
            world.jobs.status["resp_1"] = Status.COMPLETED
            async with closing(world.sender(target(receiver))) as first:
                await first.enter(job("resp_1"))
                await world.send(first)
            state = world.state()
            assert (state.waiting, state.problem) == (1, "it answered 500")
            assert (state.failing_since, state.failed_at) == (world.clock.now, world.clock.now)
            began = world.clock.now
            async with closing(world.sender(target(receiver))) as second:  # of another process
                await world.send(second, after_s=10)
                state = world.state()
                assert (state.failing_since, state.failed_at) == (began, began + 10)
                assert state.problem == "it answered 302, and redirects are not followed"
                assert len(caplog.records) == 1
                await world.send(second, after_s=100)
                world.jobs.status["resp_2"] = Status.COMPLETED
                await second.enter(job("resp_2"))
                await world.send(second)
            state = world.state()
            assert (state.waiting, state.failing_since) == (0, None)
            assert state.delivered_at == world.clock.now
            assert state.counts == {"delivered": 2, "failed": 2, "given_up": 0, "left_out": 0}
            assert receiver.url not in caplog.text

    with caplog.at_level("INFO", "api"):
        run(shared_settings, check)
    assert [record.getMessage() for record in caplog.records] == [
        "the webhook target hook does not receive: it answered 500; its events wait and are sent again",
        "the webhook target hook receives events again",
    ]


def test_an_event_that_is_given_up_is_counted(shared_settings: Settings) -> None:
    async def check(world: World) -> None:
        async with Receiver([410]).served() as receiver, closing(world.sender(target(receiver))) as sender:
            world.jobs.status["resp_1"] = Status.COMPLETED
            await sender.enter(job("resp_1"))
            await world.send(sender)
            state = world.state()
            assert state.counts == {"delivered": 0, "failed": 0, "given_up": 1, "left_out": 0}
            assert (state.waiting, state.failing_since) == (0, world.clock.now)

    run(shared_settings, check)


def test_a_test_event_is_sent_once_and_counted(shared_settings: Settings) -> None:
    async def check(world: World) -> None:
        async with Receiver([500]).served() as receiver, closing(world.sender(target(receiver))) as sender:
            hook = target(receiver)
            assert await sender.send_test(hook) == "it answered 500"
            assert world.state().problem == "it answered 500"
            results = await asyncio.gather(sender.send_test(hook), sender.send_test(hook))
            assert (results, len(receiver.received)) == ([None, None], 2)
            state = world.state()
            assert (state.waiting, state.failing_since) == (0, None)
            assert state.counts == {"delivered": 1, "failed": 1, "given_up": 0, "left_out": 0}
            event = orjson.loads(receiver.received[-1][1])
            assert event["type"] == "webhook.test"
            assert event["data"].keys() == {"id"}
            assert await world.left() == 0

    run(shared_settings, check)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://127.0.0.1:9/secret-path", "ConnectionRefusedError: "),
        ("http://no-such-host.invalid/secret-path", "gaierror: "),
        ("http://127.0.0.1:99999/secret-path", "ValueError: "),
    ],
)
def test_the_reason_of_a_failure_has_no_path(shared_settings: Settings, url: str, problem: str) -> None:
    async def check(world: World) -> None:
        hook = Target("hook", "one", url, WEBHOOK_EVENTS, (KEY,))
        async with closing(world.sender(hook)) as sender:
            found = await sender.send_test(hook)
            assert (found or "").startswith(problem)
            assert "secret" not in (found or "")
            assert "None" not in (found or "")

    run(shared_settings, check)


def test_slow_target_delays_no_other_one(shared_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender_module, "MAX_OF_TARGET", 2)

    async def check(world: World) -> None:
        async with Receiver(delay_s=scaled(30)).served() as slow, Receiver().served() as quick:
            ids = [f"resp_{number}" for number in range(4)]
            world.jobs.status = dict.fromkeys(ids, Status.COMPLETED)
            async with closing(world.sender(target(slow, "slow"), target(quick, "quick"))) as sender:
                for id in ids:
                    await sender.enter(job(id))
                async with asyncio.timeout(scaled(10)):
                    while len(quick.received) < len(ids) or len(slow.received) < 2:
                        await sender.turn()
                        await asyncio.sleep(0.01)
                assert len(slow.received) == 2

    run(shared_settings, check)


def test_events_are_those_that_the_target_wants(shared_settings: Settings) -> None:
    async def check(world: World) -> None:
        async with Receiver().served() as receiver:
            only_failed = target(receiver, events=("response.failed",))
            async with closing(world.sender(only_failed)) as sender:
                world.jobs.status = {"resp_1": Status.COMPLETED, "resp_2": Status.FAILED}
                await sender.enter(job("resp_1"))
                await sender.enter(job("resp_2"))
                await world.send(sender)
            assert [b"resp_2" in body for _, body in receiver.received] == [True]
            assert await world.left() == 0

    run(shared_settings, check)


def test_response_that_was_never_admitted_is_dropped(shared_settings: Settings) -> None:
    async def check(world: World) -> None:
        async with Receiver().served() as receiver, closing(world.sender(target(receiver))) as sender:
            await sender.enter(job("resp_1"))
            await world.send(sender)
            assert await world.left() == 2
            await world.send(sender, after_s=ADMISSION_S + 10)
            assert (await world.left(), receiver.received) == (0, [])

    run(shared_settings, check)


def test_entries_of_a_tenant_are_bounded(shared_settings: Settings) -> None:
    async def check(world: World) -> None:
        async with Receiver().served() as receiver, closing(world.sender(target(receiver))) as sender:
            assert (sender.wants("one"), sender.wants("two")) == (True, False)
            for number in range(MAX_PENDING):
                await sender.enter(job(f"resp_{number}"))
            with pytest.raises(TooManyWebhooks):
                await sender.enter(job("resp_x"))

    run(shared_settings, check)


def test_an_entry_has_no_field_that_the_version_before_refuses_and_a_new_field_is_ignored(
    shared_settings: Settings,
) -> None:
    async def check(world: World) -> None:
        entries = "{" + world.settings.redis.prefix + "}:webhook_entries:tenant:one"
        async with Receiver().served() as receiver, closing(world.sender(target(receiver))) as sender:
            for id in ("resp_1", "resp_2"):
                await sender.enter(job(id))
                world.jobs.status[id] = Status.COMPLETED
            (stored,) = await world.connection.exchange([("HGET", entries, "resp_1")])
            first = orjson.loads(stored)
            assert first.keys() == {"response", "at", "event", "ended_at", "attempts"}
            await world.connection.exchange(
                [("HSET", entries, "resp_1", orjson.dumps({**first, "of_later": 1}))]
            )
            await world.send(sender, after_s=1)
            assert {*receiver.ids} == {event_id("resp_1"), event_id("resp_2")}
        assert await world.left() == 0

    run(shared_settings, check)


@pytest.mark.parametrize("data", [b"", b"[]", b"1", b'{"at": 1}'])
def test_an_unreadable_entry_is_removed_and_stops_no_other_one(
    shared_settings: Settings, data: bytes
) -> None:
    async def check(world: World) -> None:
        key = "{" + world.settings.redis.prefix + "}:webhook"
        async with Receiver().served() as receiver, closing(world.sender(target(receiver))) as sender:
            await world.connection.exchange([("ZADD", f"{key}s:tenant:one", 1, "bad")])
            await world.connection.exchange([("HSET", f"{key}_entries:tenant:one", "bad", data)])
            await sender.enter(job("resp_1"))
            world.jobs.status["resp_1"] = Status.COMPLETED
            await world.send(sender, after_s=1)
            assert len(receiver.received) == 1
        assert await world.left() == 0

    run(shared_settings, check)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_private_address_is_not_connected_to(shared_settings: Settings, host: str) -> None:
    async def check(world: World) -> None:
        async with Receiver().served() as receiver:
            url = receiver.url.replace("127.0.0.1", host)
            public_only = replace(SETTINGS, allow_private=False)
            named = replace(target(receiver), url=url)
            async with closing(world.sender(named, settings=public_only)) as sender:
                world.jobs.status["resp_1"] = Status.COMPLETED
                await sender.enter(job("resp_1"))
                await world.send(sender)
            assert not receiver.received
            assert await world.left() == 2  # it is tried again

    run(shared_settings, check)


def test_one_process_sends_until_its_lease_ends(shared_settings: Settings) -> None:
    async def check(world: World) -> None:
        store = WebhookStore(world.connection, shared_settings.redis.prefix, 5)
        assert [await store.hold("a"), await store.hold("b"), await store.hold("a")] == [True, False, True]
        await world.connection.exchange([("DEL", "{" + shared_settings.redis.prefix + "}:webhook_sender")])
        assert [await store.hold("b"), await store.hold("a")] == [True, False]

    run(shared_settings, check)
