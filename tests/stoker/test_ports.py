"""Finding a free port."""

from __future__ import annotations

import socket

import pytest

from stoker.ports import free_port, is_free


def test_a_port_with_a_listener_is_skipped():
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]

        assert not is_free("127.0.0.1", taken)
        assert free_port("127.0.0.1", taken) > taken


def test_an_excluded_port_is_skipped():
    first = free_port("127.0.0.1", 20_000)

    assert free_port("127.0.0.1", first, {first}) > first


def test_port_zero_is_any_port():
    assert is_free("127.0.0.1", free_port("127.0.0.1", 0))


def test_an_address_of_another_machine_is_an_error():
    with pytest.raises(OSError, match=r"cannot listen on 192\.0\.2\.1:65000: "):
        free_port("192.0.2.1", 65_000)
