"""Messages of one line and of several, from the lines that are typed."""

from __future__ import annotations

import stat

import pytest

from stoker.chat.input_lines import HISTORY_FILE, Message, MessageReader, kept_history


def read(*lines: str) -> tuple[Message, list[str]]:
    """The message that these lines make, and the prompts before them."""
    left, prompts = list(lines), []

    def read_line(prompt: str) -> str:
        prompts.append(prompt)
        if not left:
            raise EOFError
        return left.pop(0)

    return MessageReader(read_line).read(), prompts


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["Hello"], "Hello"),
        (["pasted\nlines"], "pasted\nlines"),
        (['"""one line"""'], "one line"),
        (['"""', "first", "", 'second"""'], "first\n\nsecond"),
        (['"""first', "  second", '"""'], "first\n  second"),
        (['""""""'], ""),
    ],
)
def test_a_message_ends_with_its_line_or_with_its_quotes(lines, text):
    message, prompts = read(*lines)
    assert message == Message(text)
    assert prompts == [">>> ", "... ", "... ", "... "][: len(lines)]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["/help"], Message("/help", is_command=True)),
        ([" /help"], Message("/help")),
        (['"""/help"""'], Message("/help")),
        (["  two spaces"], Message("  two spaces")),
    ],
)
def test_a_space_or_quotes_make_a_question_of_a_command(lines, message):
    assert read(*lines)[0] == message


def test_quotes_that_are_never_closed_end_with_the_input():
    with pytest.raises(EOFError):
        read('"""', "lost")


def test_the_history_is_readable_by_its_owner_only(tmp_path):
    with kept_history(tmp_path):
        pass
    assert stat.S_IMODE((tmp_path / HISTORY_FILE).stat().st_mode) == 0o600


def test_without_a_data_folder_no_history_is_kept(tmp_path):
    with kept_history(tmp_path / "none"):
        pass
    assert list(tmp_path.iterdir()) == []
