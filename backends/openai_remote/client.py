"""The HTTP client for one remote server: its credentials, its certificates and its proxy.

Certificates are checked against the system's authorities, or those that SSL_CERT_FILE names. Proxies are
those of the environment (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY); a server on this machine is never
reached through one.
"""

from __future__ import annotations

import base64
import ssl
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from backends.base import LoadError
from backends.openai_remote.arguments import RemoteOptions
from http_client.client import HttpClient

LOOPBACK = ("localhost", "127.0.0.1", "::1")
LONGEST_BODY = 1 << 20  # bytes read of an answer that should have been a stream
LONGEST_LIST = 1 << 24  # bytes read of the list of models


def http_client(options: RemoteOptions) -> HttpClient:
    """Return a client for the server. Raises `LoadError` for a proxy address that is malformed."""
    proxy = _proxy(options)
    authorization = {} if options.key is None else {"authorization": f"Bearer {options.key}"}
    configured = {name.lower(): value for name, value in options.headers.items()}
    return HttpClient(
        options.url,
        headers={"user-agent": "stoker", **authorization, **configured},
        connect_timeout_s=options.connect_timeout_s,
        tls=ssl.create_default_context() if options.scheme == "https" else None,
        proxy_url=None if proxy is None else f"http://{proxy.netloc.rpartition('@')[2]}",
        proxy_headers=None if proxy is None else _credentials(proxy),
    )


def _proxy(options: RemoteOptions) -> SplitResult | None:
    """Return the proxy that the environment names for the server, None if it names none.

    Raises `LoadError`, whose message does not repeat the address: it may contain a password.
    """
    proxies = getproxies_environment()
    url = proxies.get(options.scheme) or proxies.get("all")
    if not url or options.host in LOOPBACK or proxy_bypass(options.place):
        return None
    try:
        proxy = urlsplit(url if "://" in url else f"http://{url}")
        usable = proxy.scheme == "http" and proxy.hostname and proxy.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise LoadError(
            "load_failed",
            f"the proxy that the environment names for {options.scheme} must look like http://host:port:"
            f" correct it, or add {options.host} to NO_PROXY",
        )
    return proxy


def _credentials(proxy: SplitResult) -> dict[str, str]:
    """Return the header with the user and the password of the proxy's address, if it has them."""
    if proxy.username is None:
        return {}
    credentials = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"proxy-authorization": f"Basic {base64.b64encode(credentials.encode()).decode()}"}
