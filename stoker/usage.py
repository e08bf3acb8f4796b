"""The command `stoker usage`."""

from __future__ import annotations

import csv
import io
from typing import Any
from urllib.parse import urlencode

import click

from stoker.api_options import admin_client, url_option
from stoker.names import MODELS, TENANTS, Name, note_unknown_tenant
from stoker.results import is_json, json_option, print_result
from stoker.tables import align

COLUMNS = (
    *("day", "tenant", "model", "requests", "succeeded", "input_tokens", "cached_tokens", "output_tokens"),
    *("queue_ms", "gpu_ms"),
    *(OF_MEDIA := ("audio_seconds", "images", "pixel_steps")),
)


@click.command("usage")
@click.option("--from", "first", metavar="DAY", help="The first day (default: 29 days before the last).")
@click.option("--to", "last", metavar="DAY", help="The last day (default: today).")
@click.option("--tenant", type=Name(TENANTS), help="Only this tenant.")
@click.option("--model", type=Name(MODELS), help="Only this model.")
@click.option("--csv", "as_csv", is_flag=True, help="Print it as CSV.")
@json_option("the answer of `GET /v1/admin/usage`")
@url_option
def usage_command(as_csv: bool, url: str | None, **filters: str | None) -> None:
    """Show the requests, tokens and GPU time of tenants and models, by day (UTC)."""
    if as_csv and is_json():
        raise click.UsageError("--csv and --json are two forms: give one")
    names = {"first": "from", "last": "to"}
    query = urlencode({names.get(name, name): text for name, text in filters.items() if text is not None})
    client = admin_client(url)
    report = client.get(f"/v1/admin/usage?{query}")
    if not report["data"]:
        note_unknown_tenant(client, filters["tenant"], url)
    if as_csv:
        click.echo(usage_csv(report), nl=False)
    else:
        print_result(report, lambda: usage_table(report))


def usage_csv(report: dict[str, Any]) -> str:
    """The rows of a report as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(report["data"])
    return text.getvalue()


def usage_table(report: dict[str, Any]) -> list[str]:
    """The rows of a report as lines of a table, and their sum; sounds and pictures only if there are any."""
    totals = {"day": "all", "tenant": "", "model": "", **report["totals"]}
    shown = tuple(name for name in COLUMNS if name not in OF_MEDIA or totals[name])
    rows = [tuple(str(row[name]) for name in shown) for row in (*report["data"], totals)]
    return align([shown, *rows])
