"""A command to Redis as a value: what is sent, and how its reply reads.

`Scripts` executes it in a thread, `AsyncScripts` in a coroutine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from store.script_arguments import NamedArguments

T = TypeVar("T")


class Call(NamedTuple, Generic[T]):
    """A script with its arguments by name. `read` turns its reply, in which texts are bytes, into a result.

    `repeats`: it is repeated once when its reply was lost. Else its caller does that.
    """

    script: str
    arguments: NamedArguments
    read: Callable[[Any], T]
    repeats: bool = True


class Read(NamedTuple, Generic[T]):
    """Commands of one round trip that change nothing. `read` turns their replies into a result.

    Of each command: its name, the key without the prefix, and further arguments.
    """

    commands: Sequence[tuple[str, ...]]
    read: Callable[[list[Any]], T]
    repeats: bool = True
