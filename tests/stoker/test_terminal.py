"""Lines that stay and lines that change."""

from __future__ import annotations

import io

import pytest

from stoker.terminal import Screen


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(params=[io.StringIO, Terminal], ids=["file", "terminal"])
def out(request):
    return request.param()


def show(out):
    screen = Screen(out)
    screen.status("loading 1 %")
    screen.status("loading 1 %")
    screen.status("loading 2 %")
    screen.line("loaded")
    return out.getvalue()


def test_in_a_file_there_are_only_plain_lines():
    assert show(io.StringIO()) == "loading 1 %\nloading 2 %\nloaded\n"


def test_on_a_terminal_a_status_makes_room_for_the_next_and_for_lines():
    assert show(Terminal()) == "loading 1 %\r\x1b[2Kloading 2 %\r\x1b[2Kloaded\n"


def test_a_reader_that_has_gone_stops_nothing(out):
    screen = Screen(out)
    out.close()

    screen.line("nobody hears me")
