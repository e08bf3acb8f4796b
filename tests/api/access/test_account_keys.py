"""Which keys of its tenant a key reads about at /v1/account."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from config.api_keys import digest_of
from config.settings import Settings, TenancySettings
from scheduler.usage import EPOCH
from store.redis_connections import command_client
from tests.api.access.conftest import Process
from tests.api.conftest import ADMIN_KEY, KEY, OTHER_KEY

TODAY = datetime.now(UTC).date()


def id_of(key: str) -> str:
    return f"key_config_{digest_of(key)[:12]}"


def test_a_key_for_inference_reads_nothing_of_keys_with_further_scopes_when_all_are_of_one_tenant(
    start: Callable[..., Process], shared_settings: Settings
) -> None:
    process = start(replace(shared_settings, tenancy=TenancySettings(enabled=False)))
    measuring = process.post(
        "/v1/admin/keys", json={"tenant": "default", "label": "both", "scopes": ["inference", "metrics"]}
    ).json
    used = {f"alpha {id_of(key)}": "1 1 5 2 0 0 0" for key in (KEY, ADMIN_KEY)}
    used[f"alpha {measuring['id']}"] = "2 2 5 2 0 0 0"
    name = f"{{{shared_settings.redis.prefix}}}:key_usage:{(TODAY - EPOCH).days}:default"
    command_client(shared_settings).hset(name, mapping=used)  # type: ignore[arg-type]

    def seen_by(key: str) -> tuple[set[str], dict[str | None, int]]:
        headers = {"Authorization": f"Bearer {key}"}
        listed = process.get("/v1/account/keys", headers=headers).json["data"]
        words = f"from={TODAY}&to={TODAY}&group_by=key"
        report = process.get(f"/v1/account/usage?{words}", headers=headers).json
        return {one["id"] for one in listed}, {row["key"]: row["requests"] for row in report["data"]}

    inference = {id_of(KEY), id_of(OTHER_KEY)}
    assert seen_by(KEY) == (inference, {id_of(KEY): 1, None: 3})
    assert seen_by(measuring["key"]) == (
        {*inference, measuring["id"]},
        {id_of(KEY): 1, measuring["id"]: 2, None: 1},
    )
    everything = {*inference, measuring["id"], id_of(ADMIN_KEY)}
    assert seen_by(ADMIN_KEY) == (everything, {id_of(KEY): 1, measuring["id"]: 2, id_of(ADMIN_KEY): 1})
