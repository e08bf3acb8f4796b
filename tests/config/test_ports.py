"""Finding a free port."""

from __future__ import annotations

import socket

import pytest

from config.ports import MAX_TRIES, USUAL_EPHEMERAL, any_ports, ephemeral_ports, free_port, is_free


def test_a_port_with_a_listener_is_skipped():
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]

        assert not is_free("127.0.0.1", taken)
        assert free_port("127.0.0.1", taken) > taken


def test_an_excluded_port_is_skipped():
    first = free_port("127.0.0.1", 20_000)

    assert free_port("127.0.0.1", first, {first}) > first


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_port_zero_is_any_port(host):
    assert is_free(host, free_port(host, 0))


def test_port_zero_is_none_of_the_excluded_ports():
    excluded = {port for port in range(65536) if port % 8 < 4}

    assert not {free_port("127.0.0.1", 0, excluded) for _ in range(30)} & excluded


def test_port_zero_is_none_that_an_outgoing_connection_takes():
    assert not {free_port("127.0.0.1", 0) for _ in range(100)} & set(ephemeral_ports())


def test_port_zero_is_another_port_at_each_call():
    # two processes that choose at the same time rarely get the same one
    assert len({free_port("127.0.0.1", 0) for _ in range(20)}) > 15


def test_the_ephemeral_ports_are_those_of_the_system(tmp_path):
    source = tmp_path / "ip_local_port_range"
    source.write_text("15000\t65000\n")

    assert ephemeral_ports(source) == range(15_000, 65_001)


@pytest.mark.parametrize("text", [None, "", "many"])
def test_the_usual_ephemeral_ports_are_avoided_where_the_system_names_none(tmp_path, text):
    source = tmp_path / "ip_local_port_range"
    if text is not None:
        source.write_text(text)

    assert ephemeral_ports(source) == USUAL_EPHEMERAL


def test_all_ports_are_candidates_where_the_ephemeral_range_leaves_too_few():
    assert len(any_ports(range(1024, 65_536))) > MAX_TRIES
    assert not set(any_ports(range(30_000, 65_536))) & set(range(30_000, 65_536))


def test_an_address_of_another_machine_is_an_error():
    with pytest.raises(OSError, match=r"cannot listen on 192\.0\.2\.1:65000: "):
        free_port("192.0.2.1", 65_000)


def test_a_range_without_a_free_port_is_an_error():
    with pytest.raises(OSError, match=r"no port from 65400 to 65535 is free on 127\.0\.0\.1"):
        free_port("127.0.0.1", 65_400, range(65_536))
    with pytest.raises(OSError, match="none of 200 random ports is free"):
        free_port("127.0.0.1", 0, range(65_536))
