"""How the event loop is shared among connections that send much: few of them are read in each iteration.

libuv reads a connection up to 32 times in one iteration while its buffer of 250 KB comes back full, so that a
dozen fast senders of large bodies would hold up all other connections for some 100 ms.
"""

from __future__ import annotations

LARGE_READ_BYTES = 64 * 1024
"""A connection has to wait for its turn after a read of that many bytes."""

READS_IN_TURN = 2
"""Connections that may be read again in one iteration of the loop."""
