"""Foreign text in logs and error messages."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return foreign text without control characters, for logs and error messages.

    Removes line breaks, terminal sequences and other non-printable characters; spaces stay.
    """
    return "".join(filter(str.isprintable, text))


def shortened(text: str, length: int) -> str:
    """The text, cut to `length` characters with its true length behind."""
    return text if len(text) <= length else f"{text[:length]}... ({len(text)} characters)"
