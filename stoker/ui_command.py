"""The command `stoker ui`: prints an address that opens the UI signed in."""

from __future__ import annotations

import click

from stoker.api_options import admin_client, url_option
from stoker.client import ApiClient
from stoker.results import json_option, print_result


@click.command("ui")
@json_option("the `url`, and in how many seconds its link ends (`expires_in_s`)")
@url_option
def ui_command(url: str | None) -> None:
    """Print a link that opens the UI signed in, once, within 5 minutes. An earlier link of the key ends."""
    address, expires_in_s = sign_in_address(admin_client(url))
    print_result({"url": address, "expires_in_s": expires_in_s}, lambda: [address])


def sign_in_address(client: ApiClient) -> tuple[str, int]:
    """Make a sign-in link with the client's key; returns its address and its time in seconds.

    Raises `ApiClientError`.
    """
    link = client.post("/v1/session/links")
    return f"{client.url}{link['path']}", int(link["expires_in_s"])
