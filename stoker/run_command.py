"""The command `stoker run`: makes a model ready, and asks it one question or opens a chat."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from config.load import load_settings
from stoker.adding import Addition, ModelAdder
from stoker.api_options import admin_client, given_url, inference_client, url_option
from stoker.chat.answer import stream_answer
from stoker.chat.conversation import Conversation
from stoker.chat.input_lines import kept_history
from stoker.chat.session import ChatSession, show_answer, write_answer
from stoker.names import SERVED_MODELS, complete_names
from stoker.ready_model import ModelPreparer
from stoker.results import is_json, json_option, print_result, progress_output
from stoker.terminal import TerminalOutput

STDIN = "-"
"""The word of a question in whose place the whole input is."""


@click.command("run")
@click.argument("model", shell_complete=complete_names(SERVED_MODELS))
@click.argument("question", nargs=-1)
@click.option("--system", metavar="TEXT", help="The system message.")
@click.option("--yes", is_flag=True, help="Add the model without a question, also if it does not fit.")
@click.option("--allow-remote", is_flag=True, help="Allow a model on another operator's server.")
@json_option('of one answer: `model`, `text`, `timing` and `early_end`, "" if it is whole')
@url_option
def run_command(  # noqa: PLR0913 - one parameter for each option
    model: str,
    *,
    question: tuple[str, ...],
    system: str | None,
    yes: bool,
    allow_remote: bool,
    url: str | None,
) -> None:
    """Chat with a model, which is added and loaded first if need be: a name, or a source as for `pull`.

    With a QUESTION, or without a terminal to type on, it answers once: `echo hi | stoker run stoker-demo`.
    A `-` in the question stands for the input.
    """
    interactive = not question and sys.stdin.isatty() and sys.stdout.isatty()
    if interactive and is_json():
        raise click.UsageError(
            "--json needs a question, such as `stoker run stoker-demo --json 'What is 3+4?'`"
        )
    text = "" if interactive else _question(question)
    settings = load_settings(is_client=True)
    client, admin = inference_client(url), admin_client(url)
    screen = progress_output() if is_json() or sys.stdout.isatty() else TerminalOutput(sys.stderr)
    adder = ModelAdder(admin, settings, screen, yes=yes, options=given_url())
    preparer = ModelPreparer(client, admin, screen, lambda source: _added(adder, source), given_url())
    conversation = Conversation(preparer.prepare(model), system)
    if allow_remote:
        conversation.fields["allow_remote"] = True
    if interactive:
        screen.line(f"{conversation.model} answers. /help lists the commands, Ctrl-D leaves.")
        with kept_history(settings.data_dir):
            ChatSession(client, conversation, screen, preparer.prepare).run()
        return
    if is_json():
        answer = stream_answer(client, conversation.request(text), lambda _event: None)
        timing = answer.timing and asdict(answer.timing)
        result = {"model": conversation.model, "text": answer.text, "timing": timing}
        print_result({**result, "early_end": answer.early_end})
    elif sys.stdout.isatty():
        answer = show_answer(client, conversation, text, screen)
    else:
        answer = write_answer(client, conversation, text, write_piece)
    sys.exit(130 if answer.timing is None else 0)


def _added(adder: ModelAdder, source: str) -> str:
    return str(adder.add(Addition(source))["model"])


def write_piece(text: str) -> None:
    """Write a piece at once, as it is. A reader that has gone ends the command, and so the answer."""
    sys.stdout.write(text)
    sys.stdout.flush()


def _question(words: tuple[str, ...]) -> str:
    """Return the question: its words, and the input in place of a `-`, or without any word."""
    text = " ".join(sys.stdin.read() if word == STDIN else word for word in words or (STDIN,)).strip()
    if not text:
        raise click.UsageError("there is no question: neither on the command line nor in the input")
    return text
