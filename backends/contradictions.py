"""Values of several options with which no engine runs, as a backend declares them.

The request for a load, the request that adds a model, the plan of a load and the worker that starts an engine
check the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Condition = Callable[[Any], bool]
"""Whether a rule concerns a value of an option; an option without a value has its default."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """The options in `when` contradict each other if each condition is true of its option's value.

    The `problem` follows the name of the first of them in a sentence that says what to change; `{value}` in
    it is that option's value.
    """

    when: Mapping[str, Condition]
    problem: str

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options; the message begins with the first one."""
        return tuple(self.when)

    def problem_of(self, values: Mapping[str, Any]) -> str | None:
        """The problem of these values, one for each option of the backend; None if there is none."""
        if not all(concerns(values[name]) for name, concerns in self.when.items()):
            return None
        return self.problem.format(value=values[self.options[0]])


def is_one_of(*values: Any) -> Condition:
    """The condition that an option has one of these values."""
    return lambda value: value in values


def is_set(value: Any) -> bool:
    """Whether an option has a value that is not empty."""
    return bool(value)


def is_not_set(value: Any) -> bool:
    """Whether an option has no value, or an empty one."""
    return not value
