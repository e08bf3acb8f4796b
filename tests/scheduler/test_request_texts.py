"""The texts of requests in the history on a real ledger: their setting, their bounds and their deletion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest
import redis

from api.access.access_store import AccessStore
from config.settings import HistorySettings, Settings
from governance.audit import AuditLog
from scheduler.job import AppendRequest, Claim, Status
from scheduler.request_history import read_request
from scheduler.request_texts import KeptText, RequestTexts, read_texts
from streams.events import ReasoningDelta, ScoredTextDelta, TextDelta, TokenLogprob
from tests.support.simulated_platform import SimulatedPlatform

PROMPT = orjson.dumps({"text": "user: a secret prompt", "is_cut": False})
ANSWER = 'a secret "answer"\nwith ünicode \\ end'


@pytest.fixture
def store(platform: SimulatedPlatform, settings: Settings) -> AccessStore:
    prefix = settings.redis.prefix
    audit = AuditLog(platform.client, prefix, settings.data_dir / "audit")
    return AccessStore(platform.client, prefix, audit)


def answer(platform: SimulatedPlatform, claim: Claim, events: Sequence[bytes]) -> None:
    platform.ledger.step(
        platform.incarnations["w1"],
        [AppendRequest(claim.id, claim.replica, claim.fence, 1, tuple(events))],
        [],
    )


def serve(platform: SimulatedPlatform, *texts: str, tenant: str = "acme", **job: object) -> str:
    """Run a request whose texts are to be kept to its end; the reaper has not seen that yet."""
    id = platform.admit(tenant, **{"prompt_text": PROMPT, **job})
    claim = platform.run(id)
    answer(platform, claim, [TextDelta(text).encode() for text in texts or (ANSWER,)])
    platform.release(claim)
    return id


def kept(platform: SimulatedPlatform, id: str) -> RequestTexts | None:
    return platform.ledger.scripts.execute(read_texts(id, platform.settings.history))


def values_with(platform: SimulatedPlatform, word: bytes) -> list[str]:
    """The keys in Redis whose values have this word."""
    found = []
    for key in platform.client.scan_iter(f"{platform.prefix}*", count=1000):
        kind = platform.client.type(key)
        values: Any
        if kind == b"hash":
            values = platform.client.hgetall(key)
        elif kind == b"stream":
            values = platform.client.xrange(key)
        elif kind == b"list":
            values = platform.client.lrange(key, 0, -1)
        elif kind == b"string":
            values = platform.client.get(key)
        elif kind == b"zset":
            values = platform.client.zrange(key, 0, -1)
        else:
            values = platform.client.smembers(key)
        if word in repr(values).encode():
            found.append(key.decode().partition(":")[2])
    return found


def sizes(platform: SimulatedPlatform) -> dict[str, int]:
    found: dict[bytes, bytes] = platform.client.hgetall(f"{platform.prefix}request_bytes")  # type: ignore[assignment]
    return {name.decode(): int(value) for name, value in found.items()}


def test_the_texts_of_an_allowed_request_are_beside_its_record(
    platform: SimulatedPlatform, store: AccessStore
) -> None:
    assert store.allow_texts("", ["acme"])
    id = platform.admit(prompt_text=PROMPT)
    claim = platform.run(id)
    token = TokenLogprob("x", -0.5)
    events = [ReasoningDelta("secret thought").encode(), TextDelta(ANSWER).encode()]
    answer(platform, claim, [*events, ScoredTextDelta(' and ","p":[ more', (token,)).encode()])
    platform.release(claim)
    assert kept(platform, id) is None
    platform.expire()
    texts = kept(platform, id)
    assert texts is not None
    assert texts.record == platform.ledger.scripts.execute(read_request(id))
    assert texts.prompt == KeptText("user: a secret prompt", False)
    assert texts.answer == KeptText(f'{ANSWER} and ","p":[ more', False)
    assert platform.field(id, "prompt_text") == ""


def test_no_text_is_read_as_a_record_even_in_its_form(
    platform: SimulatedPlatform, store: AccessStore
) -> None:
    store.allow_texts("", ["acme"])
    prompt = orjson.dumps({"text": "secret 1 - - - - - - - {}", "is_cut": False})
    id = serve(platform, "acme a b c d e 1 1 1 x 1 {}", prompt_text=prompt)
    platform.expire()
    assert kept(platform, id) is not None
    assert platform.ledger.scripts.execute(read_request(f"text {id}")) is None
    assert kept(platform, f"text {id}") is None


def test_a_tenant_that_allows_nothing_has_no_text_anywhere(
    platform: SimulatedPlatform, store: AccessStore
) -> None:
    assert store.allow_texts("", ["other"])
    serve(platform, store=False, generation=b"{}")  # as an API process sends it that has not read the change
    platform.expire()
    platform.advance_time(61)
    for _ in range(2):  # the first run after a gap extends the leases
        platform.expire()
    assert values_with(platform, b"secret") == []
    assert values_with(platform, b"acme") != []


def test_an_answer_has_at_most_16_kib_and_2000_events_of_its_beginning(
    platform: SimulatedPlatform, store: AccessStore
) -> None:
    store.allow_texts("", ["acme"])
    long, whole = serve(platform, "ä \\" * 8_000), serve(platform, *["ab "] * 1_998)
    many, none = serve(platform, *["ab "] * 2_500), serve(platform, "x" * 17_000)
    platform.expire()
    texts = kept(platform, long)
    assert texts is not None
    assert texts.answer.is_cut
    assert 16_000 < len(orjson.dumps(texts.answer.text)) <= 16_386
    assert ("ä \\" * 8_000).startswith(texts.answer.text)
    for id, expected in (
        (whole, KeptText("ab " * 1_998, False)),
        (many, KeptText("ab " * 2_000, True)),
        (none, KeptText("", True)),
    ):
        texts = kept(platform, id)
        assert texts is not None
        assert texts.answer == expected


def test_a_request_that_never_ran_has_its_prompt_alone(
    platform: SimulatedPlatform, store: AccessStore
) -> None:
    store.allow_texts("", ["acme"])
    for _ in range(2):
        platform.admit("other")
    id = platform.admit(prompt_text=PROMPT)
    platform.ledger.cancel(id, "acme")
    platform.expire()
    texts = kept(platform, id)
    assert texts is not None
    assert (texts.record.status, texts.answer) == ("cancelled", KeptText("", False))


def test_a_tenant_that_no_longer_allows_it_loses_its_texts_and_those_under_way(
    platform: SimulatedPlatform, store: AccessStore
) -> None:
    store.allow_texts("", ["acme", "other"])
    ended, others = serve(platform), serve(platform, tenant="other")
    platform.expire()
    bytes_with = sizes(platform)
    listed = serve(platform)  # in the stream of ends
    runs = platform.admit(prompt_text=PROMPT)
    claim = platform.run(runs)
    assert store.allow_texts("", ["other"])
    assert kept(platform, ended) is None
    answer(platform, claim, [TextDelta(ANSWER).encode()])
    platform.release(claim)
    platform.expire()
    assert [kept(platform, id) for id in (listed, runs)] == [None, None]
    assert platform.ledger.scripts.execute(read_request(runs)) is not None
    assert kept(platform, others) is not None
    left = sizes(platform)
    assert left["other"] == bytes_with["other"]
    assert left["@all"] == left["acme"] + left["other"]
    assert sum(map(len, platform.client.hvals(f"{platform.prefix}requests:acme"))) + 3 * 250 == left["acme"]  # type: ignore[arg-type]


def test_the_setting_of_an_older_version_changes_nothing(
    platform: SimulatedPlatform, store: AccessStore
) -> None:
    store.allow_texts("", ["acme"])
    id = serve(platform)
    platform.expire()
    platform.client.set(f"{platform.prefix}access_version", "2")
    assert not store.allow_texts("1", [])
    assert kept(platform, id) is not None
    assert store.allow_texts("2", [])
    assert kept(platform, id) is None


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("state", ["running", "ended", "listed", "expired"])
def test_a_client_deletes_the_texts_of_its_request_at_any_time(
    platform: SimulatedPlatform, store: AccessStore, stored: bool, state: str
) -> None:
    store.allow_texts("", ["acme", "other"])
    if state == "running":
        id = platform.admit(prompt_text=PROMPT, store=stored)
        claim = platform.run(id)
        answer(platform, claim, [TextDelta(ANSWER).encode()])
    else:
        id = serve(platform, store=stored)
    if state in ("listed", "expired"):
        platform.expire()
    if state == "expired":
        platform.advance_time(platform.settings.responses.retention_s + 1)
        for _ in range(2):  # the first run after a gap extends the leases
            platform.expire()
        assert platform.status(id) == "gone"
    assert not platform.ledger.delete(id, "other")
    assert platform.ledger.delete(id, "acme")
    if state == "running":
        platform.release(claim, Status.CANCELLED, code="cancelled")
    platform.expire()
    assert kept(platform, id) is None
    assert platform.client.hkeys(f"{platform.prefix}requests:acme") == [id.encode()]
    assert sizes(platform)["acme"] == sizes(platform)["@all"]


def test_texts_count_and_go_with_their_records(client: redis.Redis, settings: Settings) -> None:
    bounds = HistorySettings(max_requests_per_tenant=2)
    platform = SimulatedPlatform(client, replace(settings, history=bounds))
    platform.register()
    platform.load()
    client.sadd(f"{platform.prefix}text_tenants", "acme")
    ids = [serve(platform) for _ in range(3)]
    platform.expire()
    assert [kept(platform, id) is None for id in ids] == [True, False, False]
    values = client.hgetall(f"{platform.prefix}requests:acme")
    assert len(values) == 4  # type: ignore[arg-type]
    expected = sum(len(value) + 250 for value in values.values())  # type: ignore[union-attr]
    assert sizes(platform) == {"acme": expected, "@all": expected}


def test_texts_are_not_read_beyond_the_age_of_the_history(
    platform: SimulatedPlatform, store: AccessStore
) -> None:
    store.allow_texts("", ["acme"])
    id = serve(platform)
    platform.expire()
    platform.advance_time(platform.settings.history.retention_s - 5)
    assert kept(platform, id) is not None
    platform.advance_time(6)
    assert kept(platform, id) is None
