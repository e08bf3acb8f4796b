"""Saves, restores and erases sequences of the context, as the worker's commands say.

The file has the library's own form (`llama_state_seq_save_file`): the tokens and the memory of one sequence.
The worker chooses its name, and gives the engine no file that it has not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...shared.engine.pipe import Step
from .prefix_cache import PrefixCache
from .sequence import CacheSequence, SequenceMemory

MIB = 1 << 20


class StateError(Exception):
    """Raised when a command cannot be done. `code` is one of `backends.base.GenerationError`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class StateCommands:
    """Runs commands between two steps; the requests wait for the file, as they wait for a step."""

    def __init__(self, cache: PrefixCache, memory: SequenceMemory, new_tokens: Callable[[], Any]) -> None:
        """`new_tokens` makes an array for the tokens of a sequence."""
        self._cache = cache
        self._memory = memory
        self._new_tokens = new_tokens

    def run(self, number: int, command: Mapping[str, Any], step: Step) -> None:
        """Run one command, and write its answer into `step`."""
        run = {"save": self._save, "restore": self._restore, "erase": self._erase}[command["action"]]
        try:
            step.add_state(number, run(command))
        except StateError as error:
            step.add_state_error(number, error.code, str(error))

    def _save(self, command: Mapping[str, Any]) -> int:
        sequence = self._found(command)[0]
        if not self._memory.save_file(sequence, command["path"]):
            size = self._memory.size(sequence) / MIB
            raise StateError("state_disk_full", f"the state of {size:.0f} MiB could not be written")
        return sequence.length

    def _restore(self, command: Mapping[str, Any]) -> int:
        target = self._cache.sequence_for(command["namespace"], command["conversation"])
        if target is None:
            raise StateError("server_busy", "all sequences of the engine are in use")
        tokens = self._new_tokens()
        count = self._memory.load_file(target, command["path"], tokens)
        if count == 0:
            raise StateError("state_unusable", "llama.cpp cannot read this state into this model's cache")
        self._cache.adopt(target, tokens, count, command["namespace"], command["conversation"])
        return count

    def _erase(self, command: Mapping[str, Any]) -> int:
        count = 0
        for sequence in self._found(command):
            count += sequence.length
            self._cache.erase(sequence)
        return count

    def _found(self, command: Mapping[str, Any]) -> list[CacheSequence]:
        """The sequences that a command means. Raises `StateError` if there are none, or one is in use."""
        conversation, place = command["conversation"], command["place"]
        found = self._cache.sequences_of(command["namespace"], conversation)
        if conversation is None:
            found = found[place : place + 1]
        if not found:
            raise StateError("state_not_found", "the engine has no such state")
        if any(sequence.request is not None for sequence in found):
            raise StateError("conversation_locked", "a request of this conversation is running")
        return found
