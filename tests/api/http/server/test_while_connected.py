"""Work for a client."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref
from collections.abc import Coroutine
from typing import Any

import pytest

from api.http.errors import ApiError
from api.http.server.while_connected import while_connected
from tests.support.recorded_client import RecordedClient


async def answer(begun: list[bool], until: asyncio.Event) -> str:
    begun.append(True)
    await until.wait()
    return "done"


async def never_done(begun: list[bool]) -> str:
    return await answer(begun, asyncio.Event())


def test_result_is_returned_when_the_client_stays() -> None:
    async def run() -> str:
        until = asyncio.Event()
        until.set()
        return await while_connected(RecordedClient(), answer([], until))

    assert asyncio.run(run()) == "done"


@pytest.mark.parametrize("gone_before", [True, False])
def test_work_ends_when_the_client_is_gone(gone_before: bool) -> None:
    begun: list[bool] = []

    async def run() -> None:
        client = RecordedClient()
        if gone_before:
            client.disconnect()
        else:
            asyncio.get_running_loop().call_later(0.01, client.disconnect)
        await while_connected(client, never_done(begun))

    with pytest.raises(ApiError) as caught:
        asyncio.run(run())
    assert caught.value.code == "cancelled"
    assert begun == ([] if gone_before else [True])


def test_cancellation_of_the_caller_cancels_the_work_and_stays_a_cancellation() -> None:
    begun: list[bool] = []

    async def run() -> None:
        caller = asyncio.ensure_future(while_connected(RecordedClient(), never_done(begun)))
        while not begun:
            await asyncio.sleep(0)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


def run_without_collections(test: Coroutine[Any, Any, None]) -> None:
    gc.disable()
    try:
        asyncio.run(test)
    finally:
        gc.enable()


class Large:
    """Something that a request holds."""


def test_failed_work_is_freed_without_a_collection() -> None:
    held: list[weakref.ref[Large]] = []

    async def fail() -> None:
        large = Large()
        held.append(weakref.ref(large))
        await asyncio.sleep(0)
        raise ApiError("no")

    async def run() -> None:
        client = RecordedClient()
        with contextlib.suppress(ApiError):
            await while_connected(client, fail())
        client._on_disconnect.clear()  # its answer is complete
        await asyncio.sleep(0)  # the loop has held the task until now
        assert held[0]() is None

    run_without_collections(run())


def test_result_is_freed_while_the_client_still_waits_for_its_answer() -> None:
    async def make() -> Large:
        await asyncio.sleep(0)
        return Large()

    async def run() -> None:
        client = RecordedClient()
        held = weakref.ref(await while_connected(client, make()))
        await asyncio.sleep(0)  # the loop has held the task until now
        assert held() is None
        client.disconnect()

    run_without_collections(run())
