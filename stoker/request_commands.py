"""The command `stoker requests`: the requests that have ended or were refused, and one of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

import click

from stoker.api_options import admin_client, url_option
from stoker.client import ApiClient
from stoker.names import MODELS, TENANTS, Name, note_unknown_tenant
from stoker.names import REQUESTS as REQUEST_IDS
from stoker.results import json_option, print_result
from stoker.tables import align

Json = dict[str, Any]

REQUESTS = "/v1/admin/requests"
STATUSES = ("completed", "incomplete", "failed", "cancelled", "refused")
AT_ONCE = 200  # requests of one page, its most
MAX_PAGES = 50
"""With a rare filter a page may have no request, and another one follow: each looks at 2,000 requests."""


@click.command("requests")
@click.argument("id", required=False, type=Name(REQUEST_IDS))
@click.option("--tenant", type=Name(TENANTS), help="Only those of this tenant.")
@click.option("--model", type=Name(MODELS), help="Only those for this model.")
@click.option("--status", type=click.Choice(STATUSES), help="Only those that ended like this.")
@click.option("--code", help="Only those with this error code.")
@click.option("--since", help="Only those that ended from this time on (2026-01-31T12:00:00Z).")
@click.option("--until", help="Only those that ended before this time.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="The most.")
@json_option("the `data` of `GET /v1/admin/requests`, or with an ID that request")
@url_option
def requests_command(*, id: str | None, limit: int, url: str | None, **filters: str | None) -> None:
    """Show the requests that have ended or were refused, the latest first; or one, by its ID."""
    given = {name: value for name, value in filters.items() if value}
    client = admin_client(url)
    if id is not None:
        if given:
            raise click.UsageError("filters go without the id of a request")
        request = client.get(f"{REQUESTS}/{quote(id, safe='')}")
        print_result(request, lambda: request_lines(request))
        return
    requests = latest_requests(client, given, limit)
    if not requests:
        note_unknown_tenant(client, given.get("tenant"), url)
    print_result(requests, lambda: request_table(requests))


def latest_requests(client: ApiClient, filters: dict[str, str], most: int) -> list[Json]:
    """The latest `most` requests that fit, page by page. Raises `ApiError`."""
    requests: list[Json] = []
    query = dict(filters)
    for _ in range(MAX_PAGES):
        query["limit"] = str(min(AT_ONCE, most - len(requests)))
        page = client.get(f"{REQUESTS}?{urlencode(query)}")
        requests += page["data"]
        if not page["has_more"] or len(requests) >= most:
            break
        query["after"] = page["next_after"]
    return requests


def request_table(requests: Sequence[Json]) -> list[str]:
    """Return the lines of a table: a row for each request."""
    head = (
        "ended",
        "request",
        "tenant",
        "model",
        "status",
        "total",
        "waited",
        "first token",
        "in/cached/out",
    )
    return align([head, *map(_row, requests)])


def _row(request: Json) -> tuple[str, ...]:
    code = request["code"] if request["code"] != request["status"] else None
    return (
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(request["endedAt"])),
        request["id"],
        request["tenant"],
        request["model"] or "",
        f"{request['status']} ({code})" if code else request["status"],
        _time(request["totalMs"]),
        _time(request["waitedMs"]),
        _time(request["firstTokenMs"]),
        _tokens(request["tokens"]),
    )


def request_lines(request: Json) -> list[str]:
    """Return the facts of a request, with the parts of its time in their order."""
    waited, load, run, first = (request[name] for name in ("waitedMs", "loadMs", "runMs", "firstTokenMs"))
    facts = {
        "request": request["id"],
        "ended": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(request["endedAt"])),
        "tenant": request["tenant"],
        "model": request["model"],
        "API": request["api"],
        "status": request["status"],
        "code": request["code"],
        "finish reason": request["finishReason"],
        "load": _time(load),
        "queue": _time(None if waited is None else max(0, waited - (load or 0))),
        "prompt": _time(first),
        "answer": _time(None if run is None or first is None else max(0, run - first)),
        "total": _time(request["totalMs"]),
        "in/cached/out": _tokens(request["tokens"]),
        "runs": request["dispatches"] or None,
        "worker": request["worker"],
        "replica": request["replica"],
        "lost replica": request["movedFrom"],
        **{f"client: {name}": value for name, value in request["client"].items()},
    }
    return align([(name, str(value)) for name, value in facts.items() if value not in (None, "")])


def _time(milliseconds: int | None) -> str:
    if milliseconds is None:
        return ""
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def _tokens(tokens: Json | None) -> str:
    return f"{tokens['input']}/{tokens['cached']}/{tokens['output']}" if tokens else ""
