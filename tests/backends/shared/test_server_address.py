"""The address and the key of a managed server."""

from __future__ import annotations

import socket

import pytest

from backends.base import LoadError
from backends.shared.http_engine import ServerClient
from backends.shared.server_address import ServerAddress, server_address

EVERYWHERE = "0.0.0.0"  # noqa: S104 - the address that is warned of
PREFIX = "llama_server_"


def test_an_address_is_loopback_with_a_free_port_and_a_random_key_by_default() -> None:
    first, second = (server_address(PREFIX, "127.0.0.1", None, None) for _ in range(2))
    assert first.host == first.own_host == "127.0.0.1"
    assert first.port > 0
    assert len(first.key) > 32
    assert first.key != second.key
    assert first.key not in repr(first)


def test_a_configured_address_and_key_are_used() -> None:
    with socket.create_server(("127.0.0.2", 0)) as listening:
        port = listening.getsockname()[1]
    assert server_address(PREFIX, "127.0.0.2", port, "a key") == ServerAddress("127.0.0.2", port, "a key")


def test_a_server_that_chooses_its_port_gets_a_configured_one() -> None:
    assert server_address(PREFIX, "127.0.0.1", None, None, chooses_port=True).port == 0
    port = server_address(PREFIX, "127.0.0.1", None, None).port
    assert server_address(PREFIX, "127.0.0.1", port, None, chooses_port=True).port == port


def test_an_address_that_other_machines_reach_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    assert server_address(PREFIX, "localhost", None, None).host == "localhost"
    assert caplog.messages == []
    address = server_address(PREFIX, EVERYWHERE, None, "a secret key")
    assert address.own_host == "127.0.0.1"
    (message,) = caplog.messages
    assert message.startswith("llama_server_host is 0.0.0.0: other machines can reach this engine")
    assert "secret" not in message


def test_a_port_that_is_taken_is_refused_with_its_options() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        pytest.raises(
            LoadError, match=r"port \d+ \(Address already in use\): correct llama_server_host"
        ) as got,
    ):
        server_address(PREFIX, "127.0.0.1", listening.getsockname()[1], None)
    assert got.value.code == "load_failed"


@pytest.mark.parametrize(
    ("models", "named"),
    [
        (("other",), "the model other, which has the same port, is probably loaded"),
        (("a", "b"), "one of the models a, b, which"),
    ],
)
def test_the_models_with_the_same_port_are_named_when_it_is_taken(
    models: tuple[str, ...], named: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(LoadError) as caught:
            server_address(PREFIX, "127.0.0.1", port, None, same_port=models)
    assert f"no engine can listen on 127.0.0.1, port {port} ({named}" in str(caught.value)


def test_a_host_of_another_machine_is_refused_with_its_option() -> None:
    with pytest.raises(LoadError, match=r"can listen on 192\.0\.2\.1 .*: correct llama_server_host"):
        server_address(PREFIX, "192.0.2.1", None, None)


def test_a_client_connects_to_an_ipv6_address() -> None:
    assert ServerClient(ServerAddress("::", 8000, "key"))._headers["host"] == "[::1]:8000"
