"""Sanitizes foreign text for errors and logs: removes control characters and terminal sequences."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return the text without line breaks and other non-printable characters; spaces stay."""
    return "".join(filter(str.isprintable, text))
