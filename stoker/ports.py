"""Find a TCP port that nobody listens on."""

from __future__ import annotations

import errno
import socket
from collections.abc import Collection

TRIES = 200


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there now. Raises `OSError` when that is not for others to decide."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # as servers do it: a connection of theirs that is still closing does not count as taken
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise OSError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    return True


def free_port(host: str, first: int, taken: Collection[int] = ()) -> int:
    """The first free port from `first` on that is not among `taken`; 0 asks the system for any.

    Raises `OSError` when we may not listen there at all, or when many ports in a row are taken.
    """
    if first == 0:
        with socket.create_server((host, 0)) as server:
            return int(server.getsockname()[1])
    last = min(first + TRIES, 65536)
    for port in range(first, last):
        if port not in taken and is_free(host, port):
            return port
    raise OSError(f"no port from {first} to {last - 1} is free on {host}")
