"""The sequences of the context (KV cache): which tokens have been read into each."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .running_request import RunningRequest

PARTIAL = 1  # LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY: only the state that cannot be rolled back


class Sequence:
    """One of the context's sequences, in use by a `run` or cached.

    The first `length` of `tokens` are in its memory. `used`: a logical time of its last use; 0 when it is
    empty.
    """

    def __init__(self, id: int) -> None:
        self.id = id
        self.run: RunningRequest | None = None
        self.tokens: Any = ()
        self.length = 0
        self.used = 0

    def shared(self, prompt: Any, count: int | None = None) -> int:
        """The length of the common prefix with a prompt, within the first `count` tokens (None: those in
        memory).
        """
        count = min(self.length if count is None else count, len(prompt))
        if count == 0 or self.tokens[0] != prompt[0]:
            return 0
        differs = self.tokens[:count] != prompt[:count]
        at = int(differs.argmax())
        return at if differs[at] else count


class SequenceMemory:
    """The library's functions on the memory of sequences.

    `exact`: the memory cannot be rolled back (recurrent and hybrid models). `window`: the sliding window of
    the model's attention in tokens; 0 without one.
    """

    def __init__(self, library: Any, model: Any, context: Any) -> None:
        self._library = library
        self._context = context
        self._memory = library.llama_get_memory(context)
        self.exact = bool(library.llama_model_is_recurrent(model) or library.llama_model_is_hybrid(model))
        self.window: int = library.llama_model_n_swa(model)

    def clear(self) -> None:
        """Clear all sequences."""
        self._library.llama_memory_clear(self._memory, True)

    def truncate(self, sequence: Sequence, count: int) -> bool:
        """Truncate a sequence to its first `count` tokens; false when it had to be cleared."""
        sequence.length = count
        if count > 0 and self._library.llama_memory_seq_rm(self._memory, sequence.id, count, -1):
            return True
        self._library.llama_memory_seq_rm(self._memory, sequence.id, -1, -1)
        sequence.length = 0
        return count == 0

    def copy(self, source: Sequence, target: Sequence) -> None:
        """Copy a whole sequence: parts cannot be copied between streams."""
        self.truncate(target, 0)
        self._library.llama_memory_seq_cp(self._memory, source.id, target.id, -1, -1)

    def reaches(self, sequence: Sequence, count: int) -> bool:
        """Whether the memory still holds every cell that tokens after the first `count` attend to."""
        if self.window == 0:
            return True
        earliest: int = self._library.llama_memory_seq_pos_min(self._memory, sequence.id)
        return earliest <= max(0, count - self.window)

    def state_size(self, sequence: Sequence) -> int:
        """Bytes of the state that cannot be rolled back."""
        size: int = self._library.llama_state_seq_get_size_ext(self._context, sequence.id, PARTIAL)
        return size

    def state(self, sequence: Sequence) -> Any:
        """The state that cannot be rolled back; None when the library does not return it."""
        size = self.state_size(sequence)
        state = (ctypes.c_uint8 * size)()
        got = self._library.llama_state_seq_get_data_ext(self._context, state, size, sequence.id, PARTIAL)
        return state if got == size else None

    def restore(self, sequence: Sequence, state: Any) -> bool:
        """Restore a state; false when the library refuses it."""
        size = len(state)
        got = self._library.llama_state_seq_set_data_ext(self._context, state, size, sequence.id, PARTIAL)
        return bool(got == size)
