"""All that is written arrives in order and framed, even at a slow client."""

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
    """The API's end and the client's, with a small send buffer."""
    server, client = socket.socketpair()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    with server, client:
        yield server, client


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


def read_all(client: socket.socket) -> bytes:
    return b"".join(iter(lambda: client.recv(65536), b""))


def test_each_write_is_a_chunk(pair: Pair) -> None:
    server, client = pair
    writer = ChunkedWriter(server, chunked=True)
    for data in (b"data: a\n\n", b"", b"x" * 300):
        writer.write(data)
        assert writer.is_flushed
    server.close()
    received = read_all(client)
    assert received.startswith(b"9\r\ndata: a\n\n\r\n12C\r\n")
    assert unframed(received) == [b"data: a\n\n", b"x" * 300]


def test_a_body_before_http_1_1_is_not_framed(pair: Pair) -> None:
    server, client = pair
    writer = ChunkedWriter(server, chunked=False)
    writer.write(b"data: a\n\n")
    writer.write(b"data: b\n\n")
    server.close()
    assert read_all(client) == b"data: a\n\ndata: b\n\n"


@pytest.mark.parametrize("chunked", [True, False])
def test_flush_sends_the_rest_that_a_slow_client_did_not_accept(pair: Pair, chunked: bool) -> None:
    server, client = pair
    writer = ChunkedWriter(server, chunked=chunked)
    pieces: list[bytes] = []
    while writer.is_flushed:
        pieces.append(b"%d " % len(pieces) * 100)
        writer.write(pieces[-1])
    pieces.append(b"the last piece")
    writer.write(pieces[-1])
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(read_all(client)))
    reader.start()
    writer.flush()
    assert writer.is_flushed
    writer.flush()  # there is nothing left to send
    server.close()
    reader.join(5)
    assert (b"".join(unframed(received[0])) if chunked else received[0]) == b"".join(pieces)


def test_writing_to_a_disconnected_client_raises_os_error(pair: Pair) -> None:
    server, client = pair
    writer = ChunkedWriter(server, chunked=True)
    client.close()
    with pytest.raises(OSError, match="Broken pipe"):
        writer.write(b"data: a\n\n")
    with pytest.raises(OSError, match="Broken pipe"):
        writer.flush()


def test_only_a_plain_connection_of_gunicorn_has_a_writer(pair: Pair) -> None:
    server, _ = pair
    assert ChunkedWriter.for_request({"SERVER_PROTOCOL": "HTTP/1.1"}) is None
    assert ChunkedWriter.for_request({"SERVER_PROTOCOL": "HTTP/1.1", "gunicorn.socket": None}) is None
    secret = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    secret.check_hostname = False
    with secret.wrap_socket(
        server.dup(), do_handshake_on_connect=False, suppress_ragged_eofs=True
    ) as wrapped:
        assert ChunkedWriter.for_request({"SERVER_PROTOCOL": "HTTP/1.1", "gunicorn.socket": wrapped}) is None


@pytest.mark.parametrize(("protocol", "framed"), [("HTTP/1.1", True), ("HTTP/1.0", False)])
def test_the_protocol_of_the_request_decides_the_framing(pair: Pair, protocol: str, framed: bool) -> None:
    server, client = pair
    writer = ChunkedWriter.for_request({"SERVER_PROTOCOL": protocol, "gunicorn.socket": server})
    assert writer is not None
    writer.write(b"data")
    assert client.recv(100) == (b"4\r\ndata\r\n" if framed else b"data")
