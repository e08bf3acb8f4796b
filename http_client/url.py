"""The parts of an http or https URL that a connection and a request need."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}
KEPT_CHARACTERS = "/?%:@!$&'()*+,;=~"
"""Characters besides letters, digits and `-._` that a path with its query may have (RFC 3986, 3.3)."""


@dataclass(frozen=True, slots=True)
class HttpUrl:
    """A URL without its user and fragment. `host` is in lower case, an IPv6 address without brackets."""

    scheme: str
    host: str
    port: int
    path: str
    """With the query; empty where the URL ends with its host."""

    @classmethod
    def parse(cls, text: str) -> HttpUrl:
        """Read a URL. Raises `ValueError`."""
        parts = urlsplit(text)
        if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
            raise ValueError("the URL does not begin with http:// or https:// and a host")
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        port = parts.port or DEFAULT_PORTS[parts.scheme]
        return cls(parts.scheme, parts.hostname, port, quote(path, safe=KEPT_CHARACTERS))

    @property
    def server_name(self) -> str:
        """The host without the dot that may end an absolute name: certificates do not have it."""
        return self.host.rstrip(".")

    @property
    def authority(self) -> str:
        """The value of the header field `Host`: the port only where it is not the scheme's."""
        host = bracketed(self.server_name)
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def bracketed(host: str) -> str:
    """The host as it stands in a URL: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host
