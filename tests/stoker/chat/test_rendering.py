"""What a terminal, and a pipe, get of the events of a response."""

from __future__ import annotations

import pytest

from stoker.chat.rendering import DIM, RESET, PlainRenderer, TerminalRenderer, place_in_queue


def text(delta):
    return {"type": "response.output_text.delta", "delta": delta}


def reasoning(delta):
    return {"type": "response.reasoning_text.delta", "delta": delta}


def call(**item):
    return {"type": "response.output_item.done", "item": {"type": "function_call", **item}}


def rendered(renderer, *events):
    return "".join(map(renderer.render, events)) + renderer.end()


def test_reasoning_is_dimmed_and_the_answer_is_not():
    events = [{"type": "response.created"}, reasoning("I "), reasoning("add."), text("7"), text(".")]

    assert rendered(TerminalRenderer(), *events) == f"{DIM}I add.{RESET}\n\n7.\n"
    assert rendered(TerminalRenderer(dim=False), *events) == "I add.\n\n7.\n"
    assert rendered(PlainRenderer(), *events) == "7."


def test_an_interrupted_reasoning_does_not_leave_the_terminal_dimmed():
    assert rendered(TerminalRenderer(), reasoning("I")) == f"{DIM}I{RESET}\n"


def test_a_called_tool_is_named_with_what_it_is_given():
    events = [
        text("Let me see."),
        call(name="get_weather", arguments='{"city":\n "Oslo"}'),
        call(name="note", arguments="x" * 1000),
        {
            "type": "response.output_item.done",
            "item": {"type": "custom_tool_call", "name": "sh", "input": "ls"},
        },
        {"type": "response.output_item.done", "item": {"type": "message"}},
    ]

    assert rendered(TerminalRenderer(), *events) == (
        f'Let me see.\n[calls get_weather {{"city": "Oslo"}}]\n[calls note {"x" * 200}...]\n[calls sh ls]\n'
    )


@pytest.mark.parametrize("delta", [text, reasoning])
def test_an_answer_cannot_change_the_terminal(delta):
    hostile = "a\x1b]0;title\x07b\r\x08\x7f\x9b31mc\n\td"
    assert "a]0;titleb31mc\n\td" in rendered(TerminalRenderer(dim=False), delta(hostile))


def test_a_pipe_gets_the_text_as_it_is():
    assert rendered(PlainRenderer(), text("a\x1b[0m")) == "a\x1b[0m"


def test_an_empty_answer_adds_no_line():
    assert rendered(TerminalRenderer(), {"type": "response.created"}) == ""


@pytest.mark.parametrize(
    ("comment", "place"),
    [
        (
            "queue position 3 of 16, estimated wait 4 s, model is loading 41 %",
            "queue position 3 of 16, estimated wait 4 s, model is loading 41 %",
        ),
        ("keep-alive", None),
        ("queue position 1\x1b[2J of 1, x", "queue position 1[2J of 1, x"),
    ],
)
def test_a_comment_with_the_place_in_the_queue_is_shown(comment, place):
    assert place_in_queue(comment) == place
