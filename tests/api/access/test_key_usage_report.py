"""The bounds of /v1/account/usage: a tenant's reports take turns, and too many rows are not read."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from api.access.key_usage_report import REPORTS_OF_TENANT, ReportTurns
from api.http.server.application import inline_routes
from config.settings import Settings
from scheduler.usage import EPOCH, MAX_KEY_ROWS
from store.redis_connections import command_client
from tests.api.access.conftest import Process, error_of, services_of
from tests.api.conftest import KEY
from tests.support.waiting import wait_until

TODAY = datetime.now(UTC).date()


def test_a_report_is_refused_without_a_thread_when_as_many_of_its_tenant_wait(process: Process) -> None:
    services = services_of(process)
    turns = services[ReportTurns]

    async def wait_in_turn() -> None:
        async with turns.hold("boss"):
            await asyncio.Event().wait()

    waiting = [
        asyncio.run_coroutine_threadsafe(wait_in_turn(), services.loop)
        for _ in range(REPORTS_OF_TENANT.requests)
    ]
    wait_until(lambda: turns.requests == REPORTS_OF_TENANT.requests)
    for path in ("/v1/account/usage", "/v1/admin/tenants/one/usage"):
        refused = process.get(path)
        assert error_of(refused) == (429, "too_many_reports", None), path
        assert refused.headers["Retry-After"] == "2"
    assert process.get("/v1/account/usage", headers={"Authorization": f"Bearer {KEY}"}).status_code == 200
    for one in waiting:
        one.cancel()
    wait_until(lambda: not turns.requests)
    assert process.get("/v1/account/usage").status_code == 200
    assert ("GET", b"/v1/account/usage") in inline_routes(process.application)


def test_rows_are_counted_before_they_are_read_when_each_one_is_a_row_of_the_report(
    process: Process, shared_settings: Settings
) -> None:
    unreadable = dict.fromkeys((f"alpha key_{number}" for number in range(MAX_KEY_ROWS)), "no numbers")
    with command_client(shared_settings).pipeline(transaction=False) as pipeline:
        for days_ago in range(41):
            day = (TODAY - EPOCH).days - days_ago
            name = f"{{{shared_settings.redis.prefix}}}:key_usage:{day}:boss"
            pipeline.hset(name, mapping=unreadable)  # type: ignore[arg-type]
        pipeline.execute()
    refused = process.get(f"/v1/account/usage?from={TODAY - timedelta(40)}")
    assert error_of(refused) == (400, "invalid_request", "from")
    assert "more than 20000 rows" in refused.json["error"]["message"]
