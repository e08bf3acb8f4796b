"""The commands `stoker alerts`: the alerts of the platform's rules, and acknowledgements."""

from __future__ import annotations

import time
from typing import Any

import click

from stoker.api_options import admin_client, url_option
from stoker.client import in_path
from stoker.error_reports import FAILED
from stoker.names import ALERTS, Name
from stoker.results import json_option, print_result
from stoker.tables import align
from stoker.watching import Watched, watch

Json = dict[str, Any]

LATE_S = 60.0
"""The rules were not evaluated lately if that is longer ago; the pages for operators count the same."""


@click.group("alerts", invoke_without_command=True)
@click.option(
    "--check", is_flag=True, help="Exit with 1 if an alert fires unacknowledged, or if that is not known."
)
@click.option("--watch", "-w", "goes_on", is_flag=True, help="Go on: redraw on a terminal, else each change.")
@json_option("the `data` of `GET /v1/admin/alerts`; with `--watch` a line for each change")
@url_option
@click.pass_context
def alert_commands(context: click.Context, *, check: bool, goes_on: bool, url: str | None) -> None:
    """Show the alerts; `stoker alerts acknowledge` acknowledges those of a rule."""
    if context.invoked_subcommand is not None:
        return
    if check and goes_on:
        raise click.UsageError("--check goes without --watch")
    if goes_on:
        watch(lambda: admin_client(url), Watched(ALERTS.path, ALERTS.rows, alert_lines, _states))
    listed = admin_client(url).get(ALERTS.path)
    print_result(listed["data"], lambda: alert_lines(listed))
    if check and (listed["unacknowledged"] or _is_late(listed)):
        context.exit(FAILED)


@alert_commands.command("acknowledge")
@click.argument("name", type=Name(ALERTS))
@click.option("--note", default="", help="For other operators, and for the audit record.")
@click.option("--hours", type=click.IntRange(1), help="How long it holds (default: until they are resolved).")
@click.option("--end", is_flag=True, help="Take the acknowledgement back.")
@json_option("the rule with its alerts, as in `GET /v1/admin/alerts`")
@url_option
def run_acknowledge(name: str, *, note: str, hours: int | None, end: bool, url: str | None) -> None:
    """Acknowledge the alerts of a rule that fire now; those that fire later are not acknowledged."""
    if end and (note or hours):
        raise click.UsageError("--note and --hours go without --end")
    client, path = admin_client(url), f"{ALERTS.path}/{in_path(name)}/acknowledge"
    body = {"note": note} if hours is None else {"note": note, "hours": hours}
    rule = client.delete(path) if end else client.post(path, body)
    print_result(rule, lambda: [_sentence(rule)])


def alert_lines(listed: Json) -> list[str]:
    """Return the lines of a table: a row for each alert, the most urgent first; or that there is none.

    Before it stands that the rules are not evaluated now, if so.
    """
    at = listed["evaluated_at"]
    if at is None:
        return ["the rules have not been evaluated yet"]
    late = f"The rules were last evaluated at {_time(at)}: no API process does it now, so what you see may be"
    return [*([f"{late} old."] if _is_late(listed) else []), *_table(listed, at)]


def _is_late(listed: Json) -> bool:
    """Whether the rules were not evaluated lately, so that what fires now is not known."""
    at = listed["evaluated_at"]
    return at is None or listed["now"] - at > LATE_S


def _table(listed: Json, at: float) -> list[str]:
    rows = [(rule, one) for rule in listed["data"] for one in rule["instances"]]
    if not rows:
        return [f"no alert fires or has fired within a day ({_time(at)})"]
    rows.sort(key=lambda row: _urgency(*row))
    return align([("alert", "severity", "state", "since", "summary"), *(_row(*row) for row in rows)])


def _urgency(rule: Json, alert: Json) -> tuple[bool, int, bool]:
    order = ("firing", "pending", "resolved")
    return alert["acknowledged"], order.index(alert["state"]), rule["severity"] != "critical"


def _row(rule: Json, alert: Json) -> tuple[str, ...]:
    by = (rule["acknowledgement"] or {}).get("actor")
    known = f", acknowledged by {by}" if alert["acknowledged"] else ""
    subject = ", ".join(" ".join(label) for label in alert["labels"].items())
    # the summary is written in the present tense
    summary = subject if alert["state"] == "resolved" else alert["summary"]
    return rule["name"], rule["severity"], alert["state"] + known, _time(alert["since"]), summary


def _states(listed: Json) -> object:
    """What an operator has to know of: without the values, which differ at each evaluation."""
    alerts = [
        (rule["name"], one["labels"], one["state"], one["since"], one["acknowledged"])
        for rule in listed["data"]
        for one in rule["instances"]
    ]
    return _is_late(listed), alerts


def _sentence(rule: Json) -> str:
    known = rule["acknowledgement"]
    if known is None:
        return f"the alerts of {rule['name']} are not acknowledged"
    until = (
        "they are resolved" if known["until"] is None else f"{_time(known['until'])}, or they are resolved"
    )
    return f"the alerts of {rule['name']} that fire are acknowledged until {until}"


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
