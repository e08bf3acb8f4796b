"""The context's memory of one conversation: which tokens have been read into it."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .run import Run

PARTIAL = 1  # LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY: what cannot be rolled back, and no more


class Sequence:
    """One of the context's sequences, in use by a `run` or remembered.

    The first `length` of `tokens` are in its memory. `used` is when it was in use last, in turns; 0 when it
    is empty.
    """

    def __init__(self, id: int) -> None:
        self.id = id
        self.run: Run | None = None
        self.tokens: Any = ()
        self.length = 0
        self.used = 0

    def shared(self, prompt: Any, count: int | None = None) -> int:
        """How many tokens begin both this and a prompt, of the first `count` (None: that are in memory)."""
        count = min(self.length if count is None else count, len(prompt))
        if count == 0 or self.tokens[0] != prompt[0]:
            return 0
        differs = self.tokens[:count] != prompt[:count]
        at = int(differs.argmax())
        return at if differs[at] else count


class Memory:
    """The library's functions on the memory of sequences.

    `exact` says that it cannot be rolled back (recurrent and hybrid models), `window` is how far back the
    attention of some layers reaches where they remember no more than that; 0 when they remember all.
    """

    def __init__(self, library: Any, model: Any, context: Any) -> None:
        self._library = library
        self._context = context
        self._memory = library.llama_get_memory(context)
        self.exact = bool(library.llama_model_is_recurrent(model) or library.llama_model_is_hybrid(model))
        self.window: int = library.llama_model_n_swa(model)

    def clear(self) -> None:
        """Forget everything."""
        self._library.llama_memory_clear(self._memory, True)

    def keep(self, sequence: Sequence, count: int) -> bool:
        """Forget all but the first `count` tokens of a sequence; false when it had to forget all."""
        sequence.length = count
        if count > 0 and self._library.llama_memory_seq_rm(self._memory, sequence.id, count, -1):
            return True
        self._library.llama_memory_seq_rm(self._memory, sequence.id, -1, -1)
        sequence.length = 0
        return count == 0

    def copy(self, source: Sequence, target: Sequence) -> None:
        """Make a sequence the same as another: all of it, for parts cannot be copied between streams."""
        self.keep(target, 0)
        self._library.llama_memory_seq_cp(self._memory, source.id, target.id, -1, -1)

    def reaches(self, sequence: Sequence, count: int) -> bool:
        """Whether what comes behind the first `count` tokens can still see all that it has to."""
        if self.window == 0:
            return True
        earliest: int = self._library.llama_memory_seq_pos_min(self._memory, sequence.id)
        return earliest <= max(0, count - self.window)

    def state_size(self, sequence: Sequence) -> int:
        """Bytes of the state that cannot be rolled back."""
        size: int = self._library.llama_state_seq_get_size_ext(self._context, sequence.id, PARTIAL)
        return size

    def state(self, sequence: Sequence) -> Any:
        """That state; None when it cannot be had."""
        size = self.state_size(sequence)
        state = (ctypes.c_uint8 * size)()
        got = self._library.llama_state_seq_get_data_ext(self._context, state, size, sequence.id, PARTIAL)
        return state if got == size else None

    def restore(self, sequence: Sequence, state: Any) -> bool:
        """Bring a sequence back to a state; false when it does not take it."""
        size = len(state)
        got = self._library.llama_state_seq_set_data_ext(self._context, state, size, sequence.id, PARTIAL)
        return bool(got == size)
