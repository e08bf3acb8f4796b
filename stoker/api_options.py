"""Which API the commands call, and with which key.

The generated keys are those of the platform that runs from the data folder: they are sent to its address
and to loopback, and nowhere else.
"""

from __future__ import annotations

import os
import shlex
from typing import Any, Literal
from urllib.parse import urlsplit

import click

from config.generated_keys import read_keys
from config.load import load_settings
from config.loopback import is_loopback
from config.settings import Settings
from stoker.client import TIMEOUT_S, ApiClient, full_address
from stoker.data_folder import read_run

DEFAULT_PORTS = {"http": 80, "https": 443}


def url_option(function: Any) -> Any:
    """Add the option `--url`."""
    return click.option("--url", envvar="STOKER_URL", help="Address of the API (default: the running one).")(
        function
    )


def admin_client(url: str | None, timeout_s: float = TIMEOUT_S) -> ApiClient:
    """Return a client with the administrator's key: that of the environment, or the generated one."""
    return _client(url, timeout_s, "admin_key", "STOKER_ADMIN_KEY")


def governance_client(url: str | None, timeout_s: float = TIMEOUT_S) -> ApiClient:
    """Return a client with the key in STOKER_GOVERNANCE_KEY, else with the administrator's."""
    return _client(url, timeout_s, "admin_key", "STOKER_GOVERNANCE_KEY", "STOKER_ADMIN_KEY")


def inference_client(url: str | None, timeout_s: float = TIMEOUT_S) -> ApiClient:
    """Return a client with the key for requests: that of the environment, or the generated one."""
    return _client(url, timeout_s, "api_key", "STOKER_API_KEY")


def _client(
    url: str | None, timeout_s: float, generated: Literal["admin_key", "api_key"], *variables: str
) -> ApiClient:
    """A client with the key of the first variable that is set, else with the generated one, if allowed."""
    settings = load_settings(is_client=True)
    address = api_url(settings, url)
    key = next(filter(None, map(os.environ.get, variables)), None)
    if key is not None or (keys := read_keys(settings.data_dir)) is None:
        return ApiClient(address, key, timeout_s)
    if not url or _is_own_platform(address, settings):
        return ApiClient(address, getattr(keys, generated), timeout_s)
    needs_key = (
        f"the API at {address} needs a key, and the generated one is for the platform of this machine alone: "
        f"`read -rs {variables[0]} && export {variables[0]}` asks for the key to send"
    )
    return ApiClient(address, None, timeout_s, needs_key)


def _is_own_platform(address: str, settings: Settings) -> bool:
    """Whether an address is loopback, or that of the running `stoker up`. Raises `InvalidApiAddress`."""
    running = read_run(settings.data_dir).get("url")
    host, *_ = origin = _origin(address)
    return is_loopback(host) or (bool(running) and origin == _origin(str(running)))


def _origin(address: str) -> tuple[str, str, int | None]:
    """The host, scheme and port of an address. Raises `InvalidApiAddress`."""
    parts = urlsplit(full_address(address))
    return parts.hostname or "", parts.scheme, parts.port or DEFAULT_PORTS.get(parts.scheme)


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
