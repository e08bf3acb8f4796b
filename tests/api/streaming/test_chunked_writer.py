"""What is written to a client's connection arrives whole, in order and framed, however slow the client is."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator

import pytest

from api.streaming.chunked_writer import ChunkedWriter

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """The API's end and the client's, with little room between them."""
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    with ours, theirs:
        yield ours, theirs


def unframed(data: bytes) -> list[bytes]:
    """The chunks of a chunked body."""
    chunks = []
    while data:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        chunks.append(data[:length])
        assert data[length : length + 2] == b"\r\n"
        data = data[length + 2 :]
    return chunks


def read_all(theirs: socket.socket) -> bytes:
    return b"".join(iter(lambda: theirs.recv(65536), b""))


def test_each_write_is_a_chunk(pair: Pair) -> None:
    ours, theirs = pair
    writer = ChunkedWriter(ours, chunked=True)
    for data in (b"data: a\n\n", b"", b"x" * 300):
        writer.write(data)
        assert writer.free
    ours.close()
    received = read_all(theirs)
    assert received.startswith(b"9\r\ndata: a\n\n\r\n12C\r\n")
    assert unframed(received) == [b"data: a\n\n", b"x" * 300]


def test_before_http_1_1_nothing_is_framed(pair: Pair) -> None:
    ours, theirs = pair
    writer = ChunkedWriter(ours, chunked=False)
    writer.write(b"data: a\n\n")
    writer.write(b"data: b\n\n")
    ours.close()
    assert read_all(theirs) == b"data: a\n\ndata: b\n\n"


@pytest.mark.parametrize("chunked", [True, False])
def test_what_a_slow_client_does_not_take_is_kept_and_sent_by_settle(pair: Pair, chunked: bool) -> None:
    ours, theirs = pair
    writer = ChunkedWriter(ours, chunked=chunked)
    words: list[bytes] = []
    while writer.free:
        words.append(b"%d " % len(words) * 100)
        writer.write(words[-1])
    words.append(b"and this as well")
    writer.write(words[-1])
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(read_all(theirs)))
    reader.start()
    writer.settle()
    assert writer.free
    writer.settle()  # there is nothing left to send
    ours.close()
    reader.join(5)
    assert (b"".join(unframed(received[0])) if chunked else received[0]) == b"".join(words)


def test_a_client_that_is_gone_is_an_os_error(pair: Pair) -> None:
    ours, theirs = pair
    writer = ChunkedWriter(ours, chunked=True)
    theirs.close()
    with pytest.raises(OSError, match="Broken pipe"):
        writer.write(b"data: a\n\n")
    with pytest.raises(OSError, match="Broken pipe"):
        writer.settle()


def test_only_a_plain_connection_of_gunicorn_has_an_outlet(pair: Pair) -> None:
    ours, _ = pair
    assert ChunkedWriter.of({"SERVER_PROTOCOL": "HTTP/1.1"}) is None
    assert ChunkedWriter.of({"SERVER_PROTOCOL": "HTTP/1.1", "gunicorn.socket": None}) is None
    secret = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    secret.check_hostname = False
    with secret.wrap_socket(ours.dup(), do_handshake_on_connect=False, suppress_ragged_eofs=True) as wrapped:
        assert ChunkedWriter.of({"SERVER_PROTOCOL": "HTTP/1.1", "gunicorn.socket": wrapped}) is None


@pytest.mark.parametrize(("protocol", "framed"), [("HTTP/1.1", True), ("HTTP/1.0", False)])
def test_the_protocol_of_the_request_decides_the_framing(pair: Pair, protocol: str, framed: bool) -> None:
    ours, theirs = pair
    writer = ChunkedWriter.of({"SERVER_PROTOCOL": protocol, "gunicorn.socket": ours})
    assert writer is not None
    writer.write(b"data")
    assert theirs.recv(100) == (b"4\r\ndata\r\n" if framed else b"data")
