"""The number of Redis commands for one request, those inside the scripts included.

Redis executes one command at a time, and all processes share it, so this number limits the whole platform.
The expected numbers are exact, and may only go down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pytest

from config.settings import RedisSettings, Settings
from generation.prefix_keys import PrefixKey
from scheduler.commands import decode_claim
from scheduler.job import AppendRequest, Claim, Release, Status
from store.redis_connections import command_client
from streams.events import TextDelta
from tests.conftest import ValkeyServer
from tests.support.simulated_platform import SimulatedPlatform

NOT_COUNTED = {"config|resetstat", "info", "hello", "client|setinfo", "script|load"}


@pytest.fixture
def platform(own_server: ValkeyServer, settings: Settings) -> SimulatedPlatform:
    """A platform on a server of its own, with one replica that has one slot."""
    own_settings = replace(settings, redis=RedisSettings(own_server.url))
    platform = SimulatedPlatform(command_client(own_settings), own_settings)
    platform.register()
    platform.load(slots=1)
    platform.ledger.scripts.load()
    return platform


@contextmanager
def counted(platform: SimulatedPlatform, expected: int) -> Iterator[None]:
    """Check how many commands Redis executes in the block."""
    platform.client.config_resetstat()
    yield
    stats = platform.client.info("commandstats")
    calls = Counter({name.removeprefix("cmdstat_"): row["calls"] for name, row in stats.items()})  # type: ignore[union-attr]
    for name in NOT_COUNTED:
        del calls[name]
    assert calls.total() == expected, f"{calls.total()} commands: {dict(calls.most_common())}"


def admit(platform: SimulatedPlatform) -> str:
    return platform.admit(subscriber="here")


def take(platform: SimulatedPlatform) -> Claim:
    """Take the next claim message, as the worker's blocking pop does."""
    key = platform.ledger.claims_key(platform.incarnations["w1"])
    _, (message,) = platform.client.blmpop(1, 1, key, direction="LEFT", count=100)  # type: ignore[misc]
    return decode_claim(message)


def step(platform: SimulatedPlatform, claim: Claim, number: int, *, end: bool) -> tuple[Claim, ...]:
    """Write one event of a job, and its end."""
    appends = [AppendRequest(claim.id, claim.replica, claim.fence, number, (TextDelta("word").encode(),))]
    releases = (
        [Release(claim.id, claim.fence, Status.COMPLETED, "stop", tokens=7, log_bytes=20)] if end else []
    )
    return platform.ledger.step(platform.incarnations["w1"], appends, releases).claims


def test_a_request_that_runs_at_once_and_ends_in_one_step(platform: SimulatedPlatform) -> None:
    with counted(platform, 31):
        admit(platform)
        step(platform, take(platform), 1, end=True)


def test_a_request_that_waits_and_is_handed_over_by_a_step(platform: SimulatedPlatform) -> None:
    admit(platform)
    first = take(platform)
    with counted(platform, 12):
        id = admit(platform)
    with counted(platform, 31):
        (handed_over,) = step(platform, first, 1, end=True)
    assert handed_over.id == id
    with counted(platform, 15):
        step(platform, handed_over, 1, end=True)


def test_a_streamed_request_of_three_steps(platform: SimulatedPlatform) -> None:
    with counted(platform, 41):
        admit(platform)
        claim = take(platform)
        for number in range(1, 4):
            step(platform, claim, number, end=number == 3)


KEYS = [(bytes([turn]) * 8, 100 * turn) for turn in range(1, 13)]


def test_the_keys_of_prefixes_take_no_command_more_with_one_replica(platform: SimulatedPlatform) -> None:
    with counted(platform, 31):
        platform.admit(subscriber="here", prefix_keys=KEYS)
        step(platform, take(platform), 1, end=True)


def test_the_choice_of_a_warm_replica_takes_as_many_commands_as_a_turn_among_equals(
    platform: SimulatedPlatform,
) -> None:
    platform.register("w2")
    platform.load("beta", slots=2, replicas=2)
    for more, keys in ((0, []), (2, KEYS), (0, KEYS)):  # without keys; unknown; known
        with counted(platform, 18 + more):
            id = platform.admit(model="beta", subscriber="here", prefix_keys=keys)
        platform.release(platform.run(id, platform.field(id, "worker")))


@pytest.mark.parametrize(("delays", "admission", "handover"), [(False, 16, 41), (True, 19, 42)])
def test_a_job_that_waits_for_its_replica_costs_the_commands_of_its_delay(
    platform: SimulatedPlatform, delays: bool, admission: int, handover: int
) -> None:
    platform.register("w2")
    platform.load("beta", slots=1, replicas=2)

    def ask(keys: Sequence[PrefixKey] = KEYS) -> str:
        return platform.admit(model="beta", subscriber="here", prefix_keys=keys)

    def finish(id: str) -> None:
        claim = platform.run(id, platform.field(id, "worker"))
        usage = b'{"input_tokens":3000,"output_tokens":1}'
        platform.release(claim, usage=usage, tokens=3_000, first_ms=3_000)

    finish(ask())
    running = ask()
    if not delays:
        ask([])  # takes the other slot
    with counted(platform, admission):
        waiting = ask()
    with counted(platform, handover):
        finish(running)
    assert platform.status(waiting) == "running"


def test_a_receipt_takes_no_command_more(platform: SimulatedPlatform) -> None:
    with counted(platform, 31):
        platform.admit(subscriber="here", receipt="0" * 64)
        step(platform, take(platform), 1, end=True)


def test_texts_of_a_request_that_are_kept_take_three_commands_more(platform: SimulatedPlatform) -> None:
    with counted(platform, 34):  # the prompt, the log, and the prompt's removal from the job
        platform.admit(subscriber="here", prompt_text=b"{}")
        step(platform, take(platform), 1, end=True)


def test_a_request_that_operators_look_at_takes_no_command_more(platform: SimulatedPlatform) -> None:
    with counted(platform, 15):
        id = admit(platform)
    assert [job.id for job in platform.ledger.list_jobs("alpha").jobs] == [id]
    with counted(platform, 16):
        step(platform, take(platform), 1, end=True)
    assert platform.ledger.explain_job(id) is not None


def test_neither_a_request_nor_its_end_leaves_an_audit_record(platform: SimulatedPlatform) -> None:
    pending = f"{platform.prefix}audit_pending"
    before = platform.client.xlen(pending)
    admit(platform)
    step(platform, take(platform), 1, end=True)
    assert platform.client.xlen(pending) == before > 0


@pytest.mark.parametrize("conversation", ["talk", "talk::alpha"])
def test_a_stream_that_can_be_read_again_takes_three_commands_more(
    platform: SimulatedPlatform, conversation: str
) -> None:
    of_model = "::" in conversation
    with counted(platform, 31 + (2 if of_model else 1)):
        platform.admit(subscriber="here", resume_id=conversation, detached=True)
        step(platform, take(platform), 1, end=True)
    with counted(platform, 31 + 3):  # the one before has ended
        platform.admit(subscriber="here", resume_id=conversation)
        step(platform, take(platform), 1, end=True)


def test_the_count_of_an_end_takes_no_command_more_with_a_key(platform: SimulatedPlatform) -> None:
    for expected in (None, 40):  # the first one of a day sets the times of its hashes
        with counted(platform, 31):
            platform.admit(subscriber="here", key="key_1")
            step(platform, take(platform), 1, end=True)
        if expected is None:
            platform.expire()
        else:
            with counted(platform, expected):
                platform.expire()
