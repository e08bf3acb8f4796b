"""How much a server prepares at a time, and in whose turn."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from backends.shared import preparation
from backends.shared.preparation import SMALL_BYTES, Preparations, preparation_bytes
from generation.generation import AudioPart, Generation, ImagePart, Message, Tool, text_content
from tests.support.waiting import scaled

SIZE = SMALL_BYTES


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """The test, run on an event loop of its own."""

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        asyncio.run(test(**fixtures))

    return run


class Requests:
    """Requests for the preparations of one server; `begun` has the names of those under way and ended."""

    def __init__(self, most: int) -> None:
        self.preparations = Preparations(most)
        self.begun: list[str] = []
        self.prepared: dict[str, Callable[[], None]] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def begin(self, name: str, tenant: str, size: int = SIZE) -> None:
        self.tasks[name] = asyncio.create_task(self._run(name, tenant, size))
        await settled()

    async def _run(self, name: str, tenant: str, size: int) -> None:
        async with self.preparations.hold(tenant, size) as prepared:
            self.begun.append(name)
            self.prepared[name] = prepared
            await asyncio.Event().wait()

    async def end(self, name: str) -> None:
        self.prepared[name]()
        await settled()

    async def cancel(self, name: str) -> None:
        self.tasks[name].cancel()
        await settled()


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@on_a_loop
async def test_large_requests_wait_while_the_bound_is_reached_and_small_ones_do_not() -> None:
    requests = Requests(2 * SIZE)
    for name in ("a", "b", "c"):
        await requests.begin(name, "one")
    await requests.begin("small", "one", SMALL_BYTES - 1)
    assert requests.begun == ["a", "b", "small"]
    await requests.end("a")
    assert requests.begun == ["a", "b", "small", "c"]


@on_a_loop
async def test_a_request_beyond_the_bound_is_prepared_alone() -> None:
    requests = Requests(2 * SIZE)
    await requests.begin("a", "one")
    await requests.begin("huge", "one", 3 * SIZE)
    await requests.begin("b", "one")
    assert requests.begun == ["a"]
    await requests.end("a")
    assert requests.begun == ["a", "huge"]
    await requests.end("huge")
    assert requests.begun == ["a", "huge", "b"]


@on_a_loop
async def test_a_second_tenant_waits_for_one_request_of_the_first_only() -> None:
    requests = Requests(SIZE)
    for name in ("a1", "a2", "a3", "a4"):
        await requests.begin(name, "a")
    await requests.begin("b1", "b")
    for name in ("a1", "a2"):
        await requests.end(name)
    assert requests.begun == ["a1", "a2", "b1"]


@on_a_loop
async def test_a_cancelled_preparation_counts_until_the_server_has_had_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(preparation, "BYTES_PER_S", SIZE * 20)
    requests = Requests(SIZE)
    await requests.begin("a", "one")
    await requests.begin("b", "one")
    await requests.cancel("a")
    assert requests.begun == ["a"]
    async with asyncio.timeout(scaled(10)):
        while requests.begun != ["a", "b"]:
            await asyncio.sleep(0.01)


@on_a_loop
async def test_a_cancelled_request_that_waits_leaves_its_place() -> None:
    requests = Requests(SIZE)
    for name in ("a", "b", "c"):
        await requests.begin(name, "one")
    await requests.cancel("b")
    await requests.end("a")
    assert requests.begun == ["a", "c"]
    await requests.end("c")
    await requests.begin("d", "one")
    assert requests.begun == ["a", "c", "d"]


@on_a_loop
async def test_a_request_that_was_let_in_as_it_was_cancelled_gives_its_bytes_back() -> None:
    requests = Requests(SIZE)
    await requests.begin("a", "one")
    await requests.begin("b", "one")
    requests.prepared["a"]()
    requests.tasks["b"].cancel()
    await settled()
    await requests.begin("c", "one")
    assert requests.begun == ["a", "c"]


def test_many_short_messages_count_as_a_large_request() -> None:
    many = Generation("model", (Message("user", text_content("a")),) * 1000)
    assert preparation_bytes(many) > SMALL_BYTES
    assert preparation_bytes(Generation("model", (), prompt="abc")) == 3


def test_tools_images_and_recordings_count_for_a_preparation() -> None:
    message = Message("user", text_content("a"))
    small = preparation_bytes(Generation("model", (message,)))
    schema = {
        "type": "object",
        "properties": {f"field{number}": {"type": "string"} for number in range(4000)},
    }
    one = Generation("model", (message,), tools=(Tool("search", "Searches.", schema),))
    many = Generation("model", (message,), tools=(Tool("search"),) * 200)
    image = Message("user", (ImagePart("data:image/png;base64," + "A" * SMALL_BYTES),))
    audio = Message("user", (AudioPart("A" * SMALL_BYTES, "wav"),))
    for large in (one, many, Generation("model", (image,)), Generation("model", (audio,))):
        assert preparation_bytes(large) > SMALL_BYTES > small
    short = Generation("model", (message,), tools=(Tool("search"),))
    assert small < preparation_bytes(short) < SMALL_BYTES
