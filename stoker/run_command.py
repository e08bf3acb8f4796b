"""The command `stoker run`: makes a model ready, and asks it one question or opens a chat."""

from __future__ import annotations

import sys

import click

from config.load import load_settings
from stoker.adding import Addition, ModelAdder
from stoker.api_options import admin_client, given_url, inference_client, url_option
from stoker.chat.conversation import Conversation
from stoker.chat.input_lines import kept_history
from stoker.chat.session import ChatSession, show_answer, write_answer
from stoker.ready_model import ModelPreparer
from stoker.terminal import TerminalOutput

STDIN = "-"
"""The word of a question in whose place the whole input is."""


@click.command("run")
@click.argument("model")
@click.argument("question", nargs=-1)
@click.option("--system", metavar="TEXT", help="The system message.")
@click.option("--yes", is_flag=True, help="Add the model without a question, also if it does not fit.")
@click.option("--allow-remote", is_flag=True, help="Allow a model on another operator's server.")
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
    text = "" if interactive else _question(question)
    settings = load_settings(is_client=True)
    client, admin = inference_client(url), admin_client(url)
    screen = TerminalOutput(sys.stdout if sys.stdout.isatty() else sys.stderr)
    adder = ModelAdder(admin, settings, screen, yes=yes, options=given_url())
    preparer = ModelPreparer(client, admin, screen, lambda source: adder.add(Addition(source)), given_url())
    conversation = Conversation(preparer.prepare(model), system)
    if allow_remote:
        conversation.fields["allow_remote"] = True
    if interactive:
        screen.line(f"{conversation.model} answers. /help lists the commands, Ctrl-D leaves.")
        with kept_history(settings.data_dir):
            ChatSession(client, conversation, screen, preparer.prepare).run()
        return
    if sys.stdout.isatty():
        answer = show_answer(client, conversation, text, screen)
    else:
        answer = write_answer(client, conversation, text, _write)
    sys.exit(130 if answer.timing is None else 0)


def _write(text: str) -> None:
    """Write a piece at once, as it is. A reader that has gone ends the command, and so the answer."""
    sys.stdout.write(text)
    sys.stdout.flush()


def _question(words: tuple[str, ...]) -> str:
    """Return the question: its words, and the input in place of a `-`, or without any word."""
    text = " ".join(sys.stdin.read() if word == STDIN else word for word in words or (STDIN,)).strip()
    if not text:
        raise click.UsageError("there is no question: neither on the command line nor in the input")
    return text
