"""Finds a free TCP port, for a server that another process starts a moment later."""

from __future__ import annotations

import errno
import random
import socket
from collections.abc import Collection
from pathlib import Path

MAX_TRIES = 200
FIRST_ANY = 10_000  # lower ports are those of known services
EPHEMERAL_RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")  # of Linux; it holds for IPv6, too
USUAL_EPHEMERAL = range(32_768, 65_536)  # of Linux, and those of IANA, macOS and FreeBSD


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

    Any free port is a random one outside the system's ephemeral range: an outgoing connection never takes it
    before the server listens there, and processes that choose at the same time choose different ones.
    Raises `OSError` if this process may not listen there, or if `MAX_TRIES` ports are in use.
    """
    if first == 0:
        candidates = any_ports(ephemeral_ports())
        tries: Collection[int] = random.sample(candidates, MAX_TRIES)
        failure = f"none of {MAX_TRIES} random ports is free on {host}"
    else:
        tries = range(first, min(first + MAX_TRIES, 65536))
        failure = f"no port from {first} to {tries[-1]} is free on {host}"
    for port in tries:
        if port not in taken and is_free(host, port):
            return port
    raise OSError(failure)


def ephemeral_ports(source: Path = EPHEMERAL_RANGE_FILE) -> range:
    """Return the ports that the system gives to outgoing connections."""
    try:
        first, last = map(int, source.read_text().split())
    except (OSError, ValueError):
        return USUAL_EPHEMERAL
    return range(first, last + 1)


def any_ports(ephemeral: range) -> list[int]:
    """Return the ports to choose from: those outside the ephemeral range, or all where it leaves too few."""
    every = range(FIRST_ANY, 65536)
    outside = [port for port in every if port not in ephemeral]
    return outside if len(outside) >= MAX_TRIES else list(every)
