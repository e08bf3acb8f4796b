"""Permanent lines and the status line."""

from __future__ import annotations

import io

import pytest

from stoker.terminal import TerminalOutput


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(params=[io.StringIO, Terminal], ids=["file", "terminal"])
def out(request):
    return request.param()


def show(out):
    screen = TerminalOutput(out)
    screen.status("loading 1 %")
    screen.status("loading 1 %")
    screen.status("loading 2 %")
    screen.line("loaded")
    return out.getvalue()


def test_output_to_a_file_has_only_permanent_lines():
    assert show(io.StringIO()) == "loading 1 %\nloading 2 %\nloaded\n"


def test_a_status_on_a_terminal_is_replaced_by_the_next_status_or_line():
    assert show(Terminal()) == "loading 1 %\r\x1b[2Kloading 2 %\r\x1b[2Kloaded\n"


def test_a_closed_output_is_ignored(out):
    screen = TerminalOutput(out)
    out.close()

    screen.line("no reader")
