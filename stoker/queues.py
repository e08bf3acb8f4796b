"""`stoker queue`: who waits for which model, and the cancel of requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

from stoker.client import ApiClient
from stoker.tables import align

Json = dict[str, Any]


def queue_table(models: Sequence[Json]) -> list[str]:
    """Return the lines of a table: a row for each model, and one for each of its tenants."""
    rows: list[tuple[str, ...]] = [("model", "tenant", "waiting", "running", "oldest", "its id")]
    for model in models:
        waiting = f"{model['queueDepth']}/{model['maxDepth']}"
        running = f"{model['running']}/{model['slots']}"
        rows.append((model["model"], "", waiting, running, _seconds(model["oldestWaitMs"]), ""))
        rows += [
            (
                "",
                tenant["tenant"],
                str(tenant["queueDepth"]),
                str(tenant["running"]),
                _seconds(tenant["oldestWaitMs"]),
                tenant["oldestId"] or "",
            )
            for tenant in model["tenants"]
        ]
    return align(rows)


def _seconds(milliseconds: int | None) -> str:
    return "" if milliseconds is None else f"{milliseconds / 1000:.1f} s"


def cancel_request(client: ApiClient, id: str) -> Json:
    """Cancel one request; returns the answer. Raises `ApiClientError`."""
    return client.delete(f"/v1/admin/queue/{quote(id, safe='')}")


def cancelled_request(id: str, answer: Json) -> str:
    """Return a sentence about a request that was cancelled."""
    if answer["status"] == "running":
        return f"{id} of tenant {answer['tenant']} runs; its engine is asked to stop it"
    return f"{id} of tenant {answer['tenant']} is {answer['status']}"


def cancel_tenant(client: ApiClient, tenant: str, model: str | None, *, running: bool) -> Json:
    """Cancel a tenant's requests; returns the answer. Raises `ApiClientError`."""
    query = {"tenant": tenant, "model": model, "running": "true" if running else None}
    given = {name: value for name, value in query.items() if value is not None}
    return client.delete(f"/v1/admin/queue?{urlencode(given)}")


def cancelled_requests(tenant: str, answer: Json, *, running: bool) -> str:
    """Return a sentence about a tenant's requests that were cancelled."""
    sentence = f"{answer['cancelled']} waiting requests of tenant {tenant} are cancelled"
    if answer["left"]:
        sentence += f", {answer['left']} more within seconds"
    return sentence + (f"; {answer['stopping']} running ones are asked to stop" if running else "")
