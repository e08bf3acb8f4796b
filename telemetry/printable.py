"""What others say, without what a terminal would obey: for errors and logs."""

from __future__ import annotations


def printable(text: str) -> str:
    """The letters that can be seen, and blanks; line breaks and escape sequences are left out."""
    return "".join(filter(str.isprintable, text))
