"""Finds a free TCP port."""

from __future__ import annotations

import errno
import socket
from collections.abc import Collection

MAX_TRIES = 200


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there now. Raises `OSError` unless it is only a port in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # like a server: a port with closing connections only is free
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise OSError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    return True


def free_port(host: str, first: int, taken: Collection[int] = ()) -> int:
    """Return the first free port from `first` on that is not in `taken`; for 0, any free port.

    Raises `OSError` if this process may not listen there, or if `MAX_TRIES` ports are in use.
    """
    if first == 0:
        with socket.create_server((host, 0)) as server:
            return int(server.getsockname()[1])
    last = min(first + MAX_TRIES, 65536)
    for port in range(first, last):
        if port not in taken and is_free(host, port):
            return port
    raise OSError(f"no port from {first} to {last - 1} is free on {host}")
