"""The chat of a person with a model: reads messages, shows answers, and runs commands."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stoker.chat.answer import STOPPED, Answer, stream_answer
from stoker.chat.commands import Outcome, run_command
from stoker.chat.conversation import Conversation
from stoker.chat.input_lines import MessageReader, is_empty_line
from stoker.chat.rendering import PlainRenderer, TerminalRenderer, place_in_queue
from stoker.client import ApiClient, ApiClientError
from stoker.tables import align
from stoker.terminal import TerminalOutput


class ChatSession:
    """One chat. `prepare` makes a model ready and returns its name, or raises `ApiClientError`."""

    def __init__(
        self,
        client: ApiClient,
        conversation: Conversation,
        screen: TerminalOutput,
        prepare: Callable[[str], str],
        reader: MessageReader | None = None,
    ) -> None:
        self._client, self._conversation, self._screen = client, conversation, screen
        self._prepare, self._reader = prepare, reader or MessageReader()

    def run(self) -> None:
        """Talk until the person leaves: by /exit, Ctrl-D, or a second Ctrl-C at an empty prompt."""
        interrupted = False
        while True:
            try:
                message = self._reader.read()
            except EOFError:
                self._screen.line()
                return
            except KeyboardInterrupt:
                self._screen.line()
                empty = is_empty_line()
                if empty and interrupted:
                    return
                if empty:
                    self._screen.line("Ctrl-C again or Ctrl-D leaves")
                interrupted = empty
                continue
            interrupted = False
            if not message.text.strip():
                continue
            try:
                if message.is_command:
                    if self._run_command(message.text):
                        return
                else:
                    interrupted = self._ask(message.text).early_end == STOPPED
            except ApiClientError as error:
                self._screen.line(str(error))
            except KeyboardInterrupt:  # between the parts of an answer, or while a model is loaded
                self._screen.line()
                interrupted = True

    def _ask(self, question: str) -> Answer:
        answer = show_answer(self._client, self._conversation, question, self._screen)
        self._conversation.add_turn(question, answer.text)
        return answer

    def _run_command(self, text: str) -> bool:
        """Run a command. Returns whether it leaves the chat."""
        outcome = run_command(text, self._conversation)
        for line in outcome.lines:
            self._screen.line(line)
        self._act(outcome)
        return outcome.leave

    def _act(self, outcome: Outcome) -> None:
        if outcome.list_models:
            for line in self._models():
                self._screen.line(line)
        if outcome.model is not None:
            self._conversation.model = self._prepare(outcome.model)
            self._screen.line(f"{self._conversation.model} answers from now on")
        if outcome.save_to is not None:
            self._screen.line(save(self._conversation, outcome.save_to))

    def _models(self) -> list[str]:
        rows = self._client.get("/v1/models").get("data", [])
        return align([("model", "state"), *((str(row["id"]), str(row.get("state"))) for row in rows)])


def show_answer(
    client: ApiClient, conversation: Conversation, question: str, screen: TerminalOutput
) -> Answer:
    """Stream the answer to a terminal, with its reasoning, its place in the queue and its speed."""
    renderer = TerminalRenderer(dim=screen.has_styles)

    def on_event(event: Mapping[str, Any]) -> None:
        if piece := renderer.render(event):
            screen.write(piece)

    def on_comment(text: str) -> None:
        if (place := place_in_queue(text)) is not None:
            screen.status(place)

    try:
        answer = stream_answer(client, conversation.request(question), on_event, on_comment)
    finally:
        screen.write(renderer.end())
    notes = [str(note) for note in (answer.early_end, answer.timing) if note]
    screen.line(f"({'; '.join(notes)})")
    return answer


def write_answer(
    client: ApiClient, conversation: Conversation, question: str, write: Callable[[str], None]
) -> Answer:
    """Stream the text of the answer alone, for pipes and files."""
    plain = PlainRenderer()
    answer = stream_answer(client, conversation.request(question), lambda event: write(plain.render(event)))
    if not answer.text.endswith("\n"):
        write("\n")
    return answer


def save(conversation: Conversation, name: str) -> str:
    """Write the conversation to a new file, and return a sentence about it."""
    path = Path(name or time.strftime("chat-%Y%m%d-%H%M%S.json")).expanduser()
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(conversation.saved())
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}"
    return f"{path} has the conversation, as the body of a request to /v1/responses"
