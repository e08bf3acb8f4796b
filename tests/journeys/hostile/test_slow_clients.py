"""Clients that hold a connection: half a head, a slow body, no end, and too many at once."""

from __future__ import annotations

import pytest

from tests.journeys.hostile.conftest import BODY_S, HEAD_S, PER_ADDRESS, Target
from tests.support.hostile_clients import Behaviour, Crowd, crowd
from tests.support.raw_http import RawClient, request

pytestmark = [pytest.mark.journey, pytest.mark.hostile]

COUNT = 500
MARGIN_S = 1.5
HALF_HEAD = b"POST /v1/responses HTTP/1.1\r\nHost: stoker\r\nContent-Type: application/json\r\nX-Part"


def test_half_sent_heads_leave_others_undisturbed_and_are_closed_after_their_time(
    target: Target, attackers: Crowd
) -> None:
    with target.bystanders.undisturbed():
        attackers.join(COUNT // 2, Behaviour(HALF_HEAD, drip=b"x"))
        attackers.join(COUNT // 2, Behaviour(b""))
        assert attackers.run(HEAD_S + MARGIN_S, until=lambda: attackers.ended == COUNT)
    assert min(attackers.lifetimes()) > HEAD_S / 2


def test_slow_bodies_leave_others_undisturbed_and_are_closed_after_their_time(
    target: Target, attackers: Crowd
) -> None:
    fields = {"Authorization": f"Bearer {target.key}", "Content_Type": "application/json"}
    known = request("POST", "/v1/responses", Content_Length="1000", **fields)
    chunks = request("POST", "/v1/responses", Transfer_Encoding="chunked", **fields)
    with target.bystanders.undisturbed():
        attackers.join(COUNT // 2, Behaviour(known + b'{"input": "', drip=b"x"))
        attackers.join(COUNT // 2, Behaviour(chunks, drip=b"1\r\nx\r\n"))
        assert attackers.run(BODY_S + MARGIN_S, until=lambda: attackers.ended == COUNT)
    assert min(attackers.lifetimes()) > BODY_S / 2


def test_clients_that_never_close_leave_others_undisturbed(target: Target, attackers: Crowd) -> None:
    asking = Behaviour(request("GET", "/health", Connection="close"))
    with target.bystanders.undisturbed():
        for _ in range(COUNT // 10):  # 200 a second: answering them is work, what follows must not be
            attackers.join(10, asking)
            attackers.run(0.05)
        # they get their answer and the end of the connection, and keep their own side open
        assert attackers.run(1, until=lambda: attackers.ended == COUNT)
    assert {bytes(client.received[:12]) for client in attackers.clients} == {b"HTTP/1.1 200"}


def test_a_thousand_new_connections_a_second_leave_others_undisturbed(
    target: Target, attackers: Crowd
) -> None:
    with target.bystanders.undisturbed():
        for step in range(100):
            attackers.join(50, Behaviour(HALF_HEAD))
            attackers.run(0.05)
            attackers.leave(abruptly=bool(step % 2))
    assert target.exchange(request("GET", "/health")).status == 200


def test_an_address_gets_a_bounded_number_of_connections(target: Target) -> None:
    with target.bystanders.undisturbed(), crowd(target.address, hosts=1, first_host=99) as clients:
        clients.join(PER_ADDRESS + 50, Behaviour(HALF_HEAD))
        # before the time of a head is over: closed for the limit only
        assert clients.run(HEAD_S / 2, until=lambda: clients.ended >= 50)
        with RawClient(target.address, source="127.0.0.100") as other:
            other.send(request("GET", "/health"))
            assert other.answer().status == 200
    with RawClient(target.address, source="127.0.0.99") as freed:
        freed.send(request("GET", "/health"))
        assert freed.answer().status == 200


def test_half_sent_heads_of_an_address_do_not_keep_its_other_clients_out(target: Target) -> None:
    with crowd(target.address, hosts=1, first_host=99) as clients:
        clients.join(PER_ADDRESS, Behaviour(HALF_HEAD))
        clients.run(0.1)
        with RawClient(target.address, source="127.0.0.99") as other:
            other.send(request("GET", "/health"))
            assert other.answer().status == 200
