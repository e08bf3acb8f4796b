"""The error of an invalid configuration."""

from __future__ import annotations

from collections.abc import Sequence


class ConfigError(Exception):
    """Raised when the configuration is invalid.

    Its text is for the operator: one line per problem, each with the file (or the environment variable), the
    path of the setting and the valid values.
    """

    def __init__(self, problems: Sequence[str] | str) -> None:
        """Take one problem, or several."""
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))
