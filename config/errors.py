"""The error of this room: the configuration cannot be used."""

from __future__ import annotations

from collections.abc import Sequence


class ConfigError(Exception):
    """Raised when what is set cannot be used.

    The text is for the person who wrote the configuration: one line for each problem, each naming the file
    (or the environment variable), the path inside it and what would be right.
    """

    def __init__(self, problems: Sequence[str] | str) -> None:
        """Take one problem, or several."""
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))
