"""The commands `stoker workers` and `stoker drain`: what the workers do, and drains of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import click

from stoker.api_options import admin_client, url_option
from stoker.client import ApiClient
from stoker.names import WORKERS, Name
from stoker.results import json_option, print_result
from stoker.tables import align

Json = dict[str, Any]


@click.command("workers")
@json_option("a list with the `data` of `GET /v1/admin/workers`")
@url_option
def workers_command(*, url: str | None) -> None:
    """Show the workers: state, memory and replicas."""
    workers = list(all_workers(admin_client(url)))
    print_result(workers, lambda: worker_table(workers))


@click.command("drain")
@click.argument("name", type=Name(WORKERS))
@click.option("--end", is_flag=True, help="End the drain: the worker gets work again.")
@json_option("the worker, as `GET /v1/admin/workers/{name}`")
@url_option
def drain_command(name: str, *, end: bool, url: str | None) -> None:
    """Drain a worker: it gets no new requests and replicas until `--end`; running requests finish."""
    client, path = admin_client(url), f"/v1/admin/workers/{quote(name, safe='')}/drain"
    worker = client.delete(path) if end else client.post(path)
    print_result(worker, lambda: [_sentence(worker, ended=end)])


def all_workers(client: ApiClient) -> list[Json]:
    """All workers, page by page. Raises `ApiError`."""
    workers: list[Json] = []
    more = True
    while more:
        after = f"?after={quote(workers[-1]['name'], safe='')}" if workers else ""
        page = client.get(f"/v1/admin/workers{after}")
        workers += page["data"]
        more = page["has_more"] and bool(page["data"])
    return workers


def worker_table(workers: Sequence[Json]) -> list[str]:
    """Return the lines of a table: a row for each worker."""
    rows: list[tuple[str, ...]] = [("worker", "device", "state", "free/total MiB", "running", "models")]
    return align(rows + [_row(worker) for worker in workers])


def _row(worker: Json) -> tuple[str, ...]:
    memory, replicas = worker["memory"], worker["replicas"]
    used, slots = (sum(replica[of] for replica in replicas) for of in ("slots_used", "slots"))
    return (
        worker["name"],
        worker["device"] or "",
        _state(worker),
        f"{memory['free_mib']}/{memory['total_mib']}" if memory else "",
        f"{used}/{slots}" if worker["state"] == "live" else "",
        ", ".join(sorted({replica["model"] for replica in replicas})),
    )


def _state(worker: Json) -> str:
    if worker["drain"] and worker["drain"]["cause"] == "operator":
        drained = "drained" if worker["state"] == "live" else f"drained, {worker['state']}"
        return f"{drained} by {worker['drain']['actor']}"
    return "shutting down" if worker["drain"] else str(worker["state"])


def _sentence(worker: Json, *, ended: bool) -> str:
    running = sum(replica["slots_used"] for replica in worker["replicas"])
    if not ended:
        return (
            f"worker {worker['name']} gets no new requests or replicas; {running} requests are running on it"
        )
    if worker["drain"]:
        return f"no operator drains worker {worker['name']}, which shuts down"
    return f"worker {worker['name']} is not drained"
