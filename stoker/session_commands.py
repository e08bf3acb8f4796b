"""The commands `stoker sessions`: the browsers that are signed in, and the end of a session."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import click

from stoker.api_options import admin_client, url_option
from stoker.client import in_path
from stoker.names import SESSIONS, Name
from stoker.results import json_option, print_note, print_result
from stoker.tables import align

Json = dict[str, Any]


@click.group("sessions", invoke_without_command=True)
@json_option("the `data` of `GET /v1/admin/sessions`")
@url_option
@click.pass_context
def session_commands(context: click.Context, *, url: str | None) -> None:
    """Show the sessions of browsers; `stoker sessions end` ends one."""
    if context.invoked_subcommand is not None:
        return
    listed = admin_client(url).get(SESSIONS.path)
    sessions = listed["data"]
    print_result(sessions, lambda: session_lines(sessions))
    if listed["has_more"]:
        print_note(f"{listed['total']} sessions exist; these are the {len(sessions)} that were used last")


@session_commands.command("end")
@click.argument("id", type=Name(SESSIONS))
@json_option("the answer of `DELETE /v1/admin/sessions/{id}`")
@url_option
def run_end(id: str, *, url: str | None) -> None:
    """End a session: its next request is refused. Signing in again is possible."""
    ended = admin_client(url).delete(f"{SESSIONS.path}/{in_path(id)}")
    print_result(ended, lambda: [f"the session {id} has ended"])


def session_lines(sessions: Sequence[Json]) -> list[str]:
    """Return the lines of a table: a row for each session, the one that was used last first."""
    if not sessions:
        return ["no browser is signed in"]
    return align([("person or key", "roles", "tenant", "address", "last used", "id"), *map(_row, sessions)])


def _row(session: Json) -> tuple[str, ...]:
    person = session["person"]
    owner = person["email"] or session["subject"] if person else session["key"] or "a revoked key"
    roles = ", ".join(person["roles"]) if person else "by a key"
    used = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(session["last_used_at"]))
    return owner, roles, session["tenant"] or "unknown", session["address"] or "unknown", used, session["id"]
