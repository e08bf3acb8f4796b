"""What keeps web pages out of a platform without API keys, and out of the port for metrics.

Such a platform listens on the loopback interface, and a browser of the same machine reaches that. A page of
another site can send requests there, which carry its `Origin`. After DNS rebinding the page's own name has a
loopback address, and the browser takes the platform for the page's server: then `Host` has that name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from api.http.errors import Forbidden
from config.loopback import is_loopback

WITHOUT_KEYS = ("without API keys this platform", "set an API key")
METRICS_PORT = ("the port for metrics", "use the API's port, with a key")
"""What refuses, and what to do instead."""

HOST_REFUSED = (
    "{} answers requests to a loopback address or `localhost` only:"
    " name this host in api.allowed_hosts, or {}"
)
ORIGIN_REFUSED = (
    "{} refuses requests from web pages of other origins: name this origin's host in api.allowed_hosts, or {}"
)


class OpenMode:
    """Refuses a `Host` that is not loopback, and an `Origin` that is not the server's own.

    `allowed_hosts` are further names, `name` or `name:port`, for both; `allowed_origins` are further values
    of `Origin`. `words` are those of the errors.
    """

    def __init__(
        self,
        allowed_hosts: Sequence[str],
        words: tuple[str, str] = WITHOUT_KEYS,
        allowed_origins: Sequence[str] = (),
    ) -> None:
        self._words = words
        self._origins = frozenset(allowed_origins)
        self._allowed = frozenset(host.lower() for host in allowed_hosts)
        self._accepts_host = lru_cache(256)(self._is_known_host)

    def check(self, host: str | None, origin: str | None) -> None:
        """Check the two header fields of a request. Raises `Forbidden`.

        A request of HTTP/1.0 may have no `Host`; browsers send one always.
        """
        if host is not None and not self._accepts_host(host):
            raise Forbidden(HOST_REFUSED.format(*self._words), code="host_not_allowed", param="Host")
        if origin is not None and not self._accepts_origin(origin, host):
            raise Forbidden(ORIGIN_REFUSED.format(*self._words), code="origin_not_allowed", param="Origin")

    def _is_known_host(self, host: str) -> bool:
        name = _name_of(host)
        return is_loopback(name) or self._is_allowed(host)

    def _accepts_origin(self, origin: str, host: str | None) -> bool:
        if origin in self._origins:
            return True
        scheme, _, authority = origin.lower().partition("://")
        if scheme not in ("http", "https"):
            return False  # `null`, of a page in a sandbox or a file, and browsers' extensions
        return (host is not None and authority == host.lower()) or self._is_allowed(authority)

    def _is_allowed(self, host: str) -> bool:
        host = host.lower()
        return host in self._allowed or _name_of(host) in self._allowed


def _name_of(host: str) -> str:
    """The host without its port: `[::1]:8080` is `[::1]`."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdigit() and (":" not in name or name.endswith("]")) else host.lower()
