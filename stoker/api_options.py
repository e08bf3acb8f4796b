"""Which API the commands call, and with which key."""

from __future__ import annotations

import os
import shlex
from typing import Any

import click

from config.generated_keys import read_keys
from config.load import load_settings
from config.settings import Settings
from stoker.client import TIMEOUT_S, ApiClient
from stoker.data_folder import read_run


def url_option(function: Any) -> Any:
    """Add the option `--url`."""
    return click.option("--url", envvar="STOKER_URL", help="Address of the API (default: the running one).")(
        function
    )


def admin_client(url: str | None, own_key: str | None = None, timeout_s: float = TIMEOUT_S) -> ApiClient:
    """Return a client with `own_key`, else the administrator's: that of the environment, or the generated."""
    settings = load_settings(is_client=True)
    keys = read_keys(settings.data_dir)
    key = own_key or os.environ.get("STOKER_ADMIN_KEY") or (keys.admin_key if keys else None)
    return ApiClient(api_url(settings, url), key, timeout_s)


def inference_client(url: str | None, timeout_s: float = TIMEOUT_S) -> ApiClient:
    """Return a client with the key for requests: that of the environment, or the generated one."""
    settings = load_settings(is_client=True)
    keys = read_keys(settings.data_dir)
    key = os.environ.get("STOKER_API_KEY") or (keys.api_key if keys else None)
    return ApiClient(api_url(settings, url), key, timeout_s)


def given_url() -> str:
    """Return the option `--url` as it was given on the command line, for commands in messages."""
    context = click.get_current_context()
    given = context.get_parameter_source("url") is click.core.ParameterSource.COMMANDLINE
    return f" --url {shlex.quote(context.params['url'])}" if given else ""


def api_url(settings: Settings, url: str | None) -> str:
    """Return the URL of the API: the given one, that of the running `stoker up`, or the configured one."""
    if url:
        return url
    running = read_run(settings.data_dir).get("url")
    return str(running or f"http://{settings.api.host}:{settings.api.port}")
