"""`stoker queue`: who waits for which model, and the cancel of requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

from stoker.client import ApiClient
from stoker.models import align

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


def cancel_request(client: ApiClient, id: str) -> str:
    """Cancel one request; returns a sentence. Raises `ApiClientError`."""
    answer = client.delete(f"/v1/admin/queue/{quote(id, safe='')}")
    if answer["status"] == "running":
        return f"{id} of tenant {answer['tenant']} runs; its engine is asked to stop it"
    return f"{id} of tenant {answer['tenant']} is {answer['status']}"


def cancel_tenant(client: ApiClient, tenant: str, model: str | None, *, running: bool) -> str:
    """Cancel a tenant's requests; returns a sentence. Raises `ApiClientError`."""
    query = {"tenant": tenant, "model": model, "running": "true" if running else None}
    given = {name: value for name, value in query.items() if value is not None}
    answer = client.delete(f"/v1/admin/queue?{urlencode(given)}")
    sentence = f"{answer['cancelled']} waiting requests of tenant {tenant} are cancelled"
    if answer["left"]:
        sentence += f", {answer['left']} more within seconds"
    return sentence + (f"; {answer['stopping']} running ones are asked to stop" if running else "")
