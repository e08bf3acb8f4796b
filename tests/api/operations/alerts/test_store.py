"""Alerts in Redis: turns of two processes, webhooks that are sent once, and acknowledgements."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import replace

import orjson
import pytest
import redis

from api.operations.alerts.rules import BY_NAME
from api.operations.alerts.serializer import serialize_alert
from api.operations.alerts.store import INTERVAL_S, LUA, Alerts
from api.operations.metrics.collector import PlatformState
from api.webhooks.sender import WebhookSender
from api.webhooks.store import WebhookStore
from api.webhooks.target_states import TargetState, TargetStates
from api.webhooks.targets import Target
from config.settings import ALERT_EVENTS, ModelDefinition, Settings, WebhookSettings
from fleet.model_row import ModelRow
from fleet.state_changes import AlertChange, StateChanges
from fleet.states import ModelState
from fleet.worker_row import WorkerRow
from governance.authorization import ADMIN_KEY, Authorization
from scheduler.counters import Counters
from scheduler.ledger import AsyncLedger
from store.async_connection import AsyncConnection
from store.calls import Call
from store.redis_connections import command_client
from store.scripts import Scripts
from tests.support.waiting import scaled
from tests.support.webhook_receiver import Receiver

BOSS = Authorization("boss", ADMIN_KEY)
UNCOUNTED = "StokerUncountedRequests"
NO_WORKER = "StokerNoWorker"


def state(pending: int = 0) -> PlatformState:
    """A platform without workers, with so many uncounted requests."""
    return PlatformState(Counters({}, {}, (), pending), [], [], [])


def failed(*models: str) -> Callable[[], PlatformState]:
    """A platform with these models, which have failed."""
    rows = [ModelRow(name, ModelDefinition(name, name), ModelState.FAILED, 1, 0, 0, 0) for name in models]
    return lambda: PlatformState(Counters({}, {}, (), 0), rows, [], [])


class Processes:
    """Two API processes; time is an argument."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        targets = {event: ["hook"] for event in ALERT_EVENTS}
        self.both = [Alerts(client, settings, targets) for _ in range(2)]
        self.first, self.second = self.both
        self.changes = StateChanges(client, settings.redis.prefix)
        self.client = client

    def advance(self, seconds: float) -> None:
        for one in self.both:
            one.scripts.offset_us += int(seconds * 1e6)

    def evaluate(self, pending: int = 0) -> list[bool]:
        return [one.evaluate(lambda: state(pending)) for one in self.both]

    def run_for(self, steps: int, pending: int = 0) -> None:
        for _ in range(steps):
            self.advance(INTERVAL_S + 1)
            self.evaluate(pending)

    def acknowledge(self, rule: str, hours: int = 0, note: str = "") -> None:
        """Acknowledge the alerts of the latest evaluation."""
        evaluated_at = self.first.read().evaluated_at
        assert evaluated_at is not None
        self.first.acknowledge(BY_NAME[rule], evaluated_at, hours, note, BOSS)

    def reported(self) -> list[tuple[str, str, str]]:
        found, _ = self.changes.history(100)
        alerts = [one for one in reversed(found) if isinstance(one, AlertChange)]
        return [(one.alert, one.was, one.state) for one in alerts]

    def states(self) -> dict[str, str]:
        return {one.rule: one.state for one in self.first.read().instances}


@pytest.fixture
def settings(shared_settings: Settings) -> Settings:
    return shared_settings


@pytest.fixture
def client(settings: Settings) -> redis.Redis:
    return command_client(settings)


@pytest.fixture
def processes(client: redis.Redis, settings: Settings) -> Processes:
    return Processes(client, settings)


def test_one_process_at_a_time_evaluates(processes: Processes) -> None:
    assert processes.evaluate() == [True, False]
    assert processes.evaluate() == [False, False]
    processes.advance(INTERVAL_S + 1)
    assert processes.second.evaluate(state)
    assert not processes.first.evaluate(state)
    processes.advance(-3600)
    assert processes.evaluate() == [True, False], "the clock was set back"


def test_changes_are_on_the_feed_once(processes: Processes) -> None:
    processes.run_for(6)
    assert processes.states() == {NO_WORKER: "firing"}
    processes.run_for(6, pending=10_001)
    assert processes.states() == {NO_WORKER: "firing", UNCOUNTED: "firing"}
    processes.run_for(2)
    assert processes.states() == {NO_WORKER: "firing", UNCOUNTED: "resolved"}
    assert processes.reported() == [
        (NO_WORKER, "pending", "firing"),
        (UNCOUNTED, "pending", "firing"),
        (UNCOUNTED, "firing", "resolved"),
    ]


def test_a_process_whose_turn_is_over_writes_nothing(processes: Processes) -> None:
    processes.run_for(4)

    def overtaken() -> PlatformState:
        processes.advance(INTERVAL_S + 1)
        assert processes.second.evaluate(state)
        return state(10_001)

    processes.advance(INTERVAL_S + 1)
    assert not processes.first.evaluate(overtaken)
    assert processes.states() == {NO_WORKER: "firing"}
    assert processes.reported() == [(NO_WORKER, "pending", "firing")]


def test_an_evaluation_whose_reply_was_lost_reports_its_changes_once(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = processes.first.scripts
    execute, waiting = scripts.execute, f"{scripts.prefix}webhooks:target:hook"
    sent: list[bytes] = []

    def repeated(command: Call[bytes]) -> bytes:
        reply = execute(command)
        if command.script == "write_alerts":
            sent.extend(processes.client.zrange(waiting, 0, -1))  # before the call is repeated
            processes.client.delete(waiting)
            assert execute(command) == reply
        return reply

    monkeypatch.setattr(scripts, "execute", repeated)
    processes.run_for(6)
    assert processes.reported() == [(NO_WORKER, "pending", "firing")]
    assert (len(sent), processes.client.zcard(waiting)) == (1, 0)


def test_a_state_of_another_version_is_replaced(processes: Processes) -> None:
    key = f"{processes.first.scripts.prefix}alerts"
    processes.client.hset(key, mapping={"instances": b'{"at": "x"}', "growth": b"[]"})
    assert processes.first.read().evaluated_at is None
    processes.run_for(1)
    assert processes.states() == {NO_WORKER: "pending"}


def test_a_webhook_is_received_once_although_two_processes_evaluate_and_send(
    processes: Processes, settings: Settings
) -> None:
    async def check() -> None:
        connection = AsyncConnection(settings)
        hooks = WebhookSettings(allow_private=True)
        async with Receiver([500]).served() as receiver:
            target = Target("hook", None, receiver.url, ALERT_EVENTS, (secrets.token_bytes(32),))
            store = WebhookStore(connection, settings.redis.prefix)
            ledger = AsyncLedger(connection, settings)
            now = processes.first.scripts.now
            senders = [
                WebhookSender(hooks, {"hook": target}, store, ledger, process, clock=now)
                for process in ("one", "two")
            ]

            async def send() -> None:
                for process, sender in zip(("one", "two"), senders, strict=True):
                    if await store.hold(process):
                        await sender.turn()
                        await sender.finished()

            await asyncio.to_thread(processes.run_for, 6)
            await send()
            await send()
            assert len(receiver.received) == 1, "it failed, and its next attempt is later"
            await asyncio.to_thread(processes.run_for, 1)
            await send()
            await send()
            assert len(receiver.received) == 2
            assert len(set(receiver.ids)) == 1
            event = orjson.loads(receiver.received[-1][1])
            assert event["type"] == "alert.firing"
            assert event["data"]["name"] == NO_WORKER
            assert event["data"]["summary"] == "No worker is registered, so no model can answer."
            assert (event["data"]["labels"], event["data"]["value"]) == ({}, 0)
            await asyncio.to_thread(processes.run_for, 6, 10_001)
            await asyncio.to_thread(processes.run_for, 2)
            await send()
            types = [orjson.loads(body)["type"] for _, body in receiver.received[2:]]
            assert types == ["alert.resolved"], "it takes the place of the other one, which still waited"
        await connection.close()

    asyncio.run(check())


def waiting(processes: Processes, target: str = "hook") -> list[tuple[str, str]]:
    """The type and the alert of each event that waits for a target."""
    prefix = processes.first.scripts.prefix
    ids = processes.client.zrange(f"{prefix}webhooks:target:{target}", 0, -1)
    stored = [processes.client.hget(f"{prefix}webhook_entries:target:{target}", id) for id in ids]
    assert processes.client.hlen(f"{prefix}webhook_entries:target:{target}") == len(ids)
    entries = [orjson.loads(one) for one in stored if one is not None]
    return sorted((one["event"], one["alert"]["alert_key"]) for one in entries)


def test_the_latest_event_of_an_alert_takes_the_place_of_one_that_waits(processes: Processes) -> None:
    processes.run_for(6, pending=10_001)
    assert waiting(processes) == [("alert.firing", NO_WORKER), ("alert.firing", UNCOUNTED)]
    processes.run_for(1)
    assert waiting(processes) == [("alert.firing", NO_WORKER), ("alert.resolved", UNCOUNTED)]
    processes.run_for(6, pending=10_001)
    assert waiting(processes) == [("alert.firing", NO_WORKER), ("alert.firing", UNCOUNTED)]


def test_an_event_of_an_alert_is_sent_after_the_attempt_before_has_ended(
    processes: Processes, settings: Settings
) -> None:
    async def check() -> None:
        connection = AsyncConnection(settings)
        async with Receiver([500]).served() as receiver:
            target = Target("hook", None, receiver.url, ALERT_EVENTS, (secrets.token_bytes(32),))
            store = WebhookStore(connection, settings.redis.prefix)
            sender = WebhookSender(
                WebhookSettings(allow_private=True),
                {"hook": target},
                store,
                AsyncLedger(connection, settings),
                "one",
                clock=processes.first.scripts.now,
            )
            await asyncio.to_thread(processes.run_for, 6, 10_001)
            prefix = processes.first.scripts.prefix
            (other,) = [
                id
                for id, entry in processes.client.hgetall(f"{prefix}webhook_entries:target:hook").items()
                if orjson.loads(entry)["alert"]["name"] == NO_WORKER
            ]
            processes.client.zrem(f"{prefix}webhooks:target:hook", other)
            processes.client.hdel(f"{prefix}webhook_entries:target:hook", other)
            may_answer = receiver.may_answer = asyncio.Event()
            await sender.turn()
            async with asyncio.timeout(scaled(10)):
                while not receiver.received:
                    await asyncio.sleep(0.01)
            await asyncio.to_thread(processes.run_for, 1)  # the alert is resolved during the attempt
            await sender.turn()
            assert len(sender._sending) == 1, "the next event of this alert waits"
            may_answer.set()
            await sender.finished()  # it failed; it is not made again
            assert await asyncio.to_thread(waiting, processes) == [("alert.resolved", UNCOUNTED)]
            await sender.turn()
            await sender.finished()
            await asyncio.to_thread(processes.advance, 3600)
            await sender.turn()
            await sender.finished()
            events = [orjson.loads(body) for _, body in receiver.received]
            assert [event["type"] for event in events] == ["alert.firing", "alert.resolved"]
            assert {event["data"]["alert_key"] for event in events} == {UNCOUNTED}
            assert events[0]["data"]["at"] < events[1]["data"]["at"]
            assert events[0]["id"] != events[1]["id"]
            await sender.close()
        await connection.close()

    asyncio.run(check())


def test_the_key_of_an_alert_has_its_label(processes: Processes) -> None:
    for _ in range(10):
        processes.advance(INTERVAL_S + 1)
        processes.first.evaluate(failed("first", "second"))
    assert [key for _, key in waiting(processes)] == [
        "StokerModelFailed:first",
        "StokerModelFailed:second",
        NO_WORKER,
    ]


def test_a_target_is_not_sent_that_it_does_not_receive(client: redis.Redis, settings: Settings) -> None:
    processes = Processes(client, settings)
    both = {event: ["hook", "other"] for event in ALERT_EVENTS}
    alerts = Alerts(client, settings, both)
    fails = replace(state(), webhooks={"hook": TargetState(failing_since=1.0), "other": TargetState()})
    for _ in range(25):
        alerts.scripts.offset_us += int((INTERVAL_S + 1) * 1e6)
        assert alerts.evaluate(lambda: fails)
    assert waiting(processes) == [("alert.firing", NO_WORKER)]
    assert waiting(processes, "other") == [
        ("alert.firing", NO_WORKER),
        ("alert.firing", "StokerWebhookFails:hook"),
    ]


def test_the_deliveries_that_wait_for_a_target_are_bounded(
    client: redis.Redis, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.operations.alerts.store.MAX_WAITING", 1)
    processes = Processes(client, settings)
    processes.run_for(6)
    processes.run_for(6, pending=10_001)
    assert len(processes.reported()) == 2
    prefix = Scripts(client, settings.redis.prefix, LUA).prefix
    assert client.zcard(f"{prefix}webhooks:target:hook") == 1
    assert waiting(processes) == [("alert.firing", NO_WORKER)]
    assert TargetStates(client, settings.redis.prefix, ["hook"]).read()["hook"].counts["left_out"] == 1
    queue = f"{prefix}webhooks:target:hook"
    client.delete(queue, f"{prefix}webhook_entries:target:hook")  # it has arrived, and another event waits
    client.zadd(queue, {"resp_1": 1})
    alive = replace(state(), workers=[WorkerRow("w", "cpu", 1, 0.0)])
    processes.advance(INTERVAL_S + 1)
    assert processes.first.evaluate(lambda: alive)
    assert client.zcard(queue) == 2, "the end of an alert that was sent is entered"


def test_an_acknowledgement_has_its_own_time_beside_that_of_the_evaluation(processes: Processes) -> None:
    processes.run_for(6)
    processes.advance(11)
    processes.acknowledge(NO_WORKER)
    known = processes.first.read().acknowledgements[NO_WORKER]
    assert known.at == processes.first.read().evaluated_at
    assert known.made_at - known.at == pytest.approx(11, abs=scaled(5))
    key = f"{processes.first.scripts.prefix}alert_acknowledgements"
    stored = orjson.loads(processes.client.hget(key, NO_WORKER) or b"")
    del stored["asked_us"]  # as an earlier version wrote it
    processes.client.hset(key, NO_WORKER, orjson.dumps(stored))
    assert processes.first.read().acknowledgements[NO_WORKER].made_at == known.at


def test_an_acknowledgement_ends_with_its_alerts(processes: Processes) -> None:
    processes.run_for(6, pending=10_001)
    processes.acknowledge(UNCOUNTED, note="on it")
    processes.run_for(2, pending=10_001)
    known = processes.second.read().acknowledgements
    assert {rule: (one.actor, one.note, one.until) for rule, one in known.items()} == {
        UNCOUNTED: ("boss", "on it", None)
    }
    processes.run_for(1)
    shown = processes.first.read()
    assert shown.acknowledgement(BY_NAME[UNCOUNTED]) is None
    assert shown.acknowledgements == known, "a worker is listed for a day after its loss"
    processes.first.end_acknowledgement(BY_NAME[UNCOUNTED], BOSS)
    assert processes.first.read().acknowledgements == known, "it is over: there is nothing to take back"
    processes.run_for(6, pending=10_001)
    assert processes.states()[UNCOUNTED] == "firing"
    assert processes.first.read().acknowledgement(BY_NAME[UNCOUNTED]) is None, "a later alert is news"
    processes.advance(24 * 3600)
    processes.run_for(1, pending=10_001)
    assert processes.first.read().acknowledgements == known
    processes.run_for(1)
    assert processes.first.read().acknowledgements == {}


def test_an_alert_that_fires_while_others_are_acknowledged_is_unacknowledged(processes: Processes) -> None:
    rule = BY_NAME["StokerModelFailed"]

    def turn(read_state: Callable[[], PlatformState]) -> None:
        processes.advance(INTERVAL_S + 1)
        assert processes.first.evaluate(read_state)

    def acknowledged() -> PlatformState:
        """The operator has seen the evaluation before, and this one ends later."""
        processes.acknowledge(rule.name)
        return failed("first", "second")()

    for _ in range(9):
        turn(failed("first"))
    for _ in range(8):
        turn(failed("first", "second"))
    turn(acknowledged)
    found = serialize_alert(rule, processes.first.read())
    assert [(one["labels"]["model"], one["state"], one["acknowledged"]) for one in found["instances"]] == [
        ("first", "firing", True),
        ("second", "firing", False),
    ]
    assert not found["acknowledged"]


def test_an_acknowledgement_covers_no_later_alert_after_the_clock_was_set_back(processes: Processes) -> None:
    processes.run_for(6, pending=10_001)
    processes.acknowledge(UNCOUNTED)
    processes.run_for(1, pending=10_001)
    assert processes.first.read().acknowledgement(BY_NAME[UNCOUNTED]) is not None
    processes.advance(-3600)
    processes.run_for(1)
    assert processes.states()[UNCOUNTED] == "resolved"
    processes.run_for(6, pending=10_001)
    assert processes.states()[UNCOUNTED] == "firing"
    assert processes.first.read().acknowledgement(BY_NAME[UNCOUNTED]) is None


def test_an_acknowledgement_ends_after_its_hours(processes: Processes) -> None:
    processes.run_for(6)
    processes.acknowledge(NO_WORKER, hours=4)
    processes.advance(4 * 3600 - 60)
    assert NO_WORKER in processes.first.read().acknowledgements
    processes.advance(120)
    assert processes.first.read().acknowledgements == {}


def test_an_evaluation_reports_to_no_target_without_one(client: redis.Redis, settings: Settings) -> None:
    alone = Alerts(client, replace(settings), {event: [] for event in ALERT_EVENTS})
    for _ in range(6):
        alone.scripts.offset_us += int((INTERVAL_S + 1) * 1e6)
        assert alone.evaluate(state)
    assert [one.state for one in alone.read().instances] == ["firing"]
    assert client.keys(f"{alone.scripts.prefix}webhook*") == []
