"""Which port is free."""

from __future__ import annotations

import socket

import pytest

from stoker.ports import free_port, is_free


def test_a_port_that_somebody_listens_on_is_passed_over():
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]

        assert not is_free("127.0.0.1", taken)
        assert free_port("127.0.0.1", taken) > taken


def test_a_port_that_is_promised_already_is_passed_over():
    first = free_port("127.0.0.1", 20_000)

    assert free_port("127.0.0.1", first, {first}) > first


def test_port_zero_is_any_port():
    assert is_free("127.0.0.1", free_port("127.0.0.1", 0))


def test_an_address_that_is_not_ours_is_an_error():
    with pytest.raises(OSError, match=r"cannot listen on 192\.0\.2\.1:65000: "):
        free_port("192.0.2.1", 65_000)
