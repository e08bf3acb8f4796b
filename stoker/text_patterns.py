"""A type of options and arguments of commands: a text that matches a pattern."""

from __future__ import annotations

import re
from typing import Any

import click


class Matching(click.ParamType[str]):
    """A text that matches the whole of a pattern."""

    name = "text"

    def __init__(self, pattern: str) -> None:
        """Take the pattern; its letters and digits are those of ASCII."""
        self.pattern = pattern

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text, or fail with the pattern."""
        text = str(value)
        if re.fullmatch(self.pattern, text, re.ASCII) is None:
            self.fail(f"{text!r} does not match {self.pattern}", param, ctx)
        return text
