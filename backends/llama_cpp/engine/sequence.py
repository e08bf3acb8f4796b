"""The sequences of the context (KV cache): the tokens in each, and their memory."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .running_request import RunningRequest

WHOLE = 0
PARTIAL = 1  # LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY: only the state that cannot be rolled back


class CacheSequence:
    """One of the context's sequences, in use by a `request` or cached.

    The first `length` of `tokens` are in its memory; they are for requests of its `namespace` alone, and with
    None for its own request only. `conversation` names the one that it was last used for. `last_used` is the
    logical time of its last use, 0 when it is empty. Its `id` changes when it moves.
    """

    def __init__(self, id: int) -> None:
        self.id = id
        self.request: RunningRequest | None = None
        self.tokens: Any = ()
        self.length = 0
        self.namespace: str | None = None
        self.conversation: str | None = None
        self.last_used = 0

    def common_prefix(self, prompt: Any, count: int | None = None) -> int:
        """The length of the common prefix with a prompt, within the first `count` tokens.

        None for `count` compares the tokens in memory.
        """
        count = min(self.length if count is None else count, len(prompt))
        if count == 0 or self.tokens[0] != prompt[0]:
            return 0
        differs = self.tokens[:count] != prompt[:count]
        at = int(differs.argmax())
        return at if differs[at] else count


class SequenceMemory:
    """The library's functions on the memory of sequences.

    `is_recurrent` says that the memory cannot be rolled back (recurrent and hybrid models). `window` is the
    sliding window of the model's attention in tokens, 0 without one.
    """

    def __init__(self, library: Any, model: Any, context: Any) -> None:
        self._library = library
        self._context = context
        self._memory = library.llama_get_memory(context)
        recurrent, hybrid = library.llama_model_is_recurrent(model), library.llama_model_is_hybrid(model)
        self.is_recurrent = bool(recurrent or hybrid)
        self.window: int = library.llama_model_n_swa(model)

    def clear(self) -> None:
        """Clear all sequences."""
        self._library.llama_memory_clear(self._memory, True)

    def truncate(self, sequence: CacheSequence, count: int) -> bool:
        """Truncate a sequence to its first `count` tokens; false when it had to be cleared."""
        sequence.length = count
        if count > 0 and self._library.llama_memory_seq_rm(self._memory, sequence.id, count, -1):
            return True
        self._library.llama_memory_seq_rm(self._memory, sequence.id, -1, -1)
        sequence.length = 0
        return count == 0

    def copy(self, source: CacheSequence, target: CacheSequence) -> None:
        """Copy a whole sequence: parts cannot be copied between streams."""
        self.truncate(target, 0)
        self._library.llama_memory_seq_cp(self._memory, source.id, target.id, -1, -1)

    def move(self, sequence: CacheSequence, empty: CacheSequence) -> None:
        """Exchange the ids of a sequence and an empty one, and move the tokens of the first to its new id.

        The library copies them at the beginning of the next step, in the order of the calls.
        """
        if sequence.length:
            self._library.llama_memory_seq_rm(self._memory, empty.id, -1, -1)
            self._library.llama_memory_seq_cp(self._memory, sequence.id, empty.id, -1, -1)
            self._library.llama_memory_seq_rm(self._memory, sequence.id, -1, -1)
        sequence.id, empty.id = empty.id, sequence.id

    def holds_window(self, sequence: CacheSequence, count: int) -> bool:
        """Whether the memory still holds every cell that tokens after the first `count` attend to."""
        if self.window == 0:
            return True
        earliest: int = self._library.llama_memory_seq_pos_min(self._memory, sequence.id)
        return earliest <= max(0, count - self.window)

    def size(self, sequence: CacheSequence) -> int:
        """Bytes that a sequence takes, as the library counts them for saving it."""
        size: int = self._library.llama_state_seq_get_size_ext(self._context, sequence.id, WHOLE)
        return size

    def state_size(self, sequence: CacheSequence) -> int:
        """Bytes of the state that cannot be rolled back."""
        size: int = self._library.llama_state_seq_get_size_ext(self._context, sequence.id, PARTIAL)
        return size

    def state(self, sequence: CacheSequence) -> Any:
        """The state that cannot be rolled back; None when the library does not return it."""
        size = self.state_size(sequence)
        state = (ctypes.c_uint8 * size)()
        got = self._library.llama_state_seq_get_data_ext(self._context, state, size, sequence.id, PARTIAL)
        return state if got == size else None

    def restore(self, sequence: CacheSequence, state: Any) -> bool:
        """Restore a state; false when the library refuses it."""
        size = len(state)
        got = self._library.llama_state_seq_set_data_ext(self._context, state, size, sequence.id, PARTIAL)
        return bool(got == size)

    def save_file(self, sequence: CacheSequence, path: str) -> bool:
        """Write a sequence and its tokens to a file; false when the file could not be written."""
        tokens = (ctypes.c_int32 * sequence.length)(*sequence.tokens[: sequence.length].tolist())
        size = self._library.llama_state_seq_save_file(
            self._context, path.encode(), sequence.id, tokens, sequence.length
        )
        return bool(size)

    def load_file(self, sequence: CacheSequence, path: str, tokens: Any) -> int:
        """Replace a sequence by that of a file, and its tokens in `tokens`. Returns how many they are.

        0 when the library refuses the file; the sequence is empty then.
        """
        room, count = (ctypes.c_int32 * len(tokens))(), ctypes.c_size_t()
        self.truncate(sequence, 0)
        if not self._library.llama_state_seq_load_file(
            self._context, path.encode(), sequence.id, room, len(room), ctypes.byref(count)
        ):
            self.truncate(sequence, 0)
            return 0
        tokens[: count.value] = room[: count.value]
        return int(count.value)
