"""The address and the key of a managed server: loopback, a free port and a random key, unless configured."""

from __future__ import annotations

import errno
import logging
import os
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

from backends.base import LoadError
from config.loopback import is_loopback
from config.ports import free_port

log = logging.getLogger(__name__)

ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - names them, and binds nothing
"""The address through which this machine reaches a server that listens on all addresses."""


@dataclass(frozen=True)
class ServerAddress:
    """Where a managed server listens, and the key that it requires.

    `host` is an IP address or a name. `port` is 0 where the server chooses one itself.
    """

    host: str
    port: int
    key: str = field(repr=False)

    @property
    def own_host(self) -> str:
        """The host to which the worker connects."""
        return ANY_ADDRESS.get(self.host, self.host)


def server_address(  # noqa: PLR0913 - all of them are configured separately
    prefix: str,
    host: str,
    port: int | None,
    key: str | None,
    *,
    chooses_port: bool = False,
    same_port: Sequence[str] = (),
) -> ServerAddress:
    """Return the configured address and key, with a free port and a random key where none is configured.

    `prefix` begins the names of the options, for messages, and `same_port` are the other models with that
    port. `chooses_port` is whether the server itself finds a free port. An address that other machines can
    reach is logged as a warning. Raises `LoadError` (load_failed) if the address is not one of this machine's
    or the port is taken, so that the key is not sent to another program.
    """
    if not is_loopback(host):
        log.warning(
            "%shost is %s: other machines can reach this engine, past Stoker's queue and limits; "
            "its key is all that protects it",
            prefix,
            host,
        )
    bound = _bound_port(prefix, host, port, same_port)
    listens_on = 0 if chooses_port and port is None else bound
    return ServerAddress(host, listens_on, key or secrets.token_urlsafe(32))


def _bound_port(prefix: str, host: str, port: int | None, same_port: Sequence[str]) -> int:
    """Bind the port, or any free one, for a moment. Returns it."""
    try:
        family, *_, address = socket.getaddrinfo(host, port or 0, type=socket.SOCK_STREAM)[0]
        with socket.create_server((address[0], address[1]), family=family):
            return port or free_port(str(address[0]), 0)
    except OSError as error:
        known = error.errno is not None and not isinstance(error, socket.gaierror)
        reason = os.strerror(error.errno or 0) if known else error.strerror
        if error.errno == errno.EADDRINUSE and same_port:
            models = "the model" if len(same_port) == 1 else "one of the models"
            reason = f"{models} {', '.join(same_port)}, which has the same port, is probably loaded"
        sentence = f"no engine can listen on {host} ({reason}): correct {prefix}host"
        if port is not None:
            sentence = (
                f"no engine can listen on {host}, port {port} ({reason}): correct {prefix}host and "
                f"{prefix}port, or leave the port outso that each engine gets a free one"
            )
        raise LoadError("load_failed", sentence) from error
