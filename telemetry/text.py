"""Foreign text in logs and error messages."""

from __future__ import annotations

import re

_KEY = re.compile(r"sk-[\w-]{4,}", re.ASCII)
"""What looks like an API key: those that Stoker makes, and those of other vendors."""


_TERMINAL_CODE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, movements of the cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # titles, links
    r"|\x1b[ -/]*[0-~]"
)
"""An escape sequence of ECMA-48. A string without an end takes the rest of its line."""


def without_terminal_codes(text: str) -> str:
    """The text without the escape sequences of a terminal: colours, links, titles."""
    return _TERMINAL_CODE.sub("", text) if "\x1b" in text or not text.isascii() else text


def printable(text: str) -> str:
    """Return foreign text without control characters, for logs and error messages.

    Removes line breaks, terminal sequences and other non-printable characters; spaces stay.
    """
    return "".join(filter(str.isprintable, text))


def one_line(text: str) -> str:
    """The text with each control character, and each other non-printable one, as its escape in Python."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


def without_keys(text: str) -> str:
    """The text with `sk-...` in place of all that looks like an API key."""
    return _KEY.sub("sk-...", text) if "sk-" in text else text


def shortened(text: str, length: int) -> str:
    """The text, cut to `length` characters with its true length behind."""
    return text if len(text) <= length else f"{text[:length]}... ({len(text)} characters)"
