"""`stoker run` in a real terminal and in pipes, against a running platform."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from config.commands import program
from config.settings import ROOT
from stoker.chat.rendering import DIM, RESET
from stoker.cli import cli
from tests.support.platform import Platform
from tests.support.typing_person import CTRL_C, CTRL_D, TypingPerson, person_at
from tests.support.waiting import scaled

pytestmark = pytest.mark.journey

RUN = [sys.executable, "-m", "stoker", "run"]


def piped(shared: Platform, *words: str, text: str = "") -> Result:
    """Run the command in this process, without a terminal."""
    return CliRunner().invoke(cli, ["run", *words], input=text, env=shared.environment)


def terminal(shared: Platform, *words: str) -> AbstractContextManager[TypingPerson]:
    return person_at(*RUN, *words, cwd=ROOT, environment=shared.environment)


@pytest.fixture
def chat(shared: Platform) -> Iterator[TypingPerson]:
    """A chat with the stub in a terminal."""
    with terminal(shared, "stub") as person:
        person.wait_for(">>> ")
        yield person


def is_idle(shared: Platform, model: str) -> bool:
    return shared.model(model)["inflight_requests"] == 0


def test_a_pipe_gets_one_answer_and_nothing_else(shared: Platform) -> None:
    done = subprocess.run(
        [*RUN, "stub"],
        cwd=ROOT,
        env=shared.environment,
        input="/stub thinking=3 echo \x1b[1mbold",
        capture_output=True,
        text=True,
        timeout=scaled(30),
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "\x1b[1mbold\n", "")


def test_a_dash_in_a_question_stands_for_the_input(shared: Platform) -> None:
    done = piped(shared, "stub", "/stub", "echo", "Read", "-", text="this\n")
    assert (done.exit_code, done.stdout) == (0, "Read this\n")


def test_the_demo_model_answers_a_question_of_the_command_line(shared: Platform) -> None:
    done = piped(shared, "stoker-demo", "What is 3+4?")
    assert (done.exit_code, done.stdout) == (0, "3+4=7\n")


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["stoker-dmo", "?"], 5, "there is no model stoker-dmo; did you mean stoker-demo?"),
        (["quite-another", "?"], 5, f"`{program()} models list` lists the models"),
        (["stub", "/stub error=engine_failed x"], 1, "stub gave no answer: "),
        (["stub", " "], 2, "there is no question: neither on the command line nor in the input"),
        (["broken", "?"], 1, "broken: the load failed: "),
    ],
)
def test_an_error_is_one_sentence(shared: Platform, words: list[str], code: int, sentence: str) -> None:
    done = piped(shared, *words)
    assert done.exit_code == code
    assert sentence in done.output
    assert isinstance(done.exception, SystemExit)


def test_a_chat_shows_reasoning_dimmed_called_tools_and_the_times(chat: TypingPerson) -> None:
    chat.type("/set thinking enabled\n")
    chat.wait_for("thinking = 'enabled'")
    chat.type("Hello\n")
    shown = chat.wait_for(" ms)")
    assert f"{DIM}think0 " in shown
    assert f"{RESET}\n\ntok0 " in shown
    assert "(first token after " in shown

    chat.type('/set tools [{"type": "function", "name": "get_weather"}]\n')
    chat.wait_for("tools = [")
    chat.type(' /stub tool_call=get_weather {"city": "Oslo"}\n')
    chat.wait_for('[calls get_weather {"city": "Oslo"}]\n(first token after ')


def test_a_chat_sends_the_conversation_the_system_message_and_several_lines(chat: TypingPerson) -> None:
    chat.type("/system Be brief.\n")
    chat.wait_for("the system message is set")
    chat.type(' /stub echo "first"\n')
    chat.wait_for("(first token after ")
    chat.type('"""/stub echo_json\nsecond\n"""\n')
    shown = chat.wait_for("(first token after ", times=2)
    sent = json.loads(next(line for line in shown.splitlines() if '"messages"' in line))
    assert [(message["role"], message["content"][0]["text"]) for message in sent["messages"]] == [
        ("system", "Be brief."),
        ("user", '/stub echo "first"'),
        ("assistant", '"first"'),
        ("user", "/stub echo_json\nsecond"),
    ]


def test_ctrl_c_stops_the_answer_on_the_server_and_not_the_chat(chat: TypingPerson, shared: Platform) -> None:
    chat.type(" /stub tokens=100000 tokens_per_s=20 x\n")
    chat.wait_for("tok2 ")
    assert not is_idle(shared, "stub")
    chat.type(CTRL_C)
    chat.wait_for("(stopped)")
    shared.wait_for(lambda: is_idle(shared, "stub"), 5, "end of the answer on the server")

    chat.type(" /stub echo still here\n")
    chat.wait_for("still here\n(first token after ")


def test_ctrl_c_at_a_prompt_drops_the_line_and_the_second_at_an_empty_one_leaves(chat: TypingPerson) -> None:
    chat.type("never sent")
    chat.wait_for("never sent")
    chat.type(CTRL_C)
    chat.wait_for(">>> ", times=2)
    chat.type(CTRL_C)
    chat.wait_for("Ctrl-C again or Ctrl-D leaves")
    chat.wait_for(">>> ", times=3)
    chat.type(CTRL_C)
    assert chat.exit_code() == 0


def test_a_request_that_waits_shows_its_place(shared: Platform) -> None:
    busy = [
        shared.call("POST", "/v1/responses", {"model": "slow", "input": "x", "background": True})[1]["id"]
        for _ in range(3)
    ]
    try:
        with terminal(shared, "slow") as first, terminal(shared, "slow") as second:
            for person in (first, second):
                person.wait_for(">>> ")
                person.type("Hello\n")
            place = "queue position "
            shared.wait_for(lambda: place in first.shown or place in second.shown, 15, "a place in the queue")
            waiting = first if place in first.shown else second
            waiting.wait_for("waiting for a slot")
            waiting.type(CTRL_C)
            waiting.wait_for("(stopped)")
    finally:
        for id in busy:
            shared.call("POST", f"/v1/responses/{id}/cancel")


def test_a_chat_changes_its_model_and_is_saved(chat: TypingPerson, tmp_path: Path) -> None:
    chat.type("/model\n")
    chat.wait_for("gguf ")  # the last row
    assert re.search(r"stoker-demo +loaded", chat.shown)
    chat.type("/model stoker-dem\n")
    chat.wait_for("did you mean stoker-demo?")
    chat.type("/model stoker-demo\n")
    chat.wait_for("stoker-demo answers from now on")
    chat.type("What is 3+4?\n")
    chat.wait_for("3+4=7")
    chat.wait_for("(first token after ")
    file = tmp_path / "saved.json"
    chat.type(f"/save {file}\n")
    chat.wait_for("has the conversation")
    assert json.loads(file.read_text()) == {
        "model": "stoker-demo",
        "input": [
            {"role": "user", "content": "What is 3+4?"},
            {"role": "assistant", "content": "3+4=7"},
        ],
    }
    chat.type(f"/save {file}\n")
    chat.wait_for("cannot be written: File exists")
    chat.type("/exit\n")
    assert chat.exit_code() == 0


def test_the_history_is_kept_for_the_next_chat(shared: Platform) -> None:
    with terminal(shared, "stub") as person:
        person.wait_for(">>> ")
        person.type("remember me\n")
        person.wait_for("(first token after ")
        person.type(CTRL_D)
        assert person.exit_code() == 0
    with terminal(shared, "stub") as person:
        person.wait_for(">>> ")
        person.type("\x1b[A")
        person.wait_for("remember me")
