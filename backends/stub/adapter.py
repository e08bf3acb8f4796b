"""The stub: a runtime without a model. Deterministic, scriptable, as quick or as broken as one likes.

It is a real adapter with a real engine process, so that the whole platform can be run, tested and measured
on a laptop. A model's options:

    stub_tokens          int >= 0, 16     tokens of an answer: "tok0 tok1 tok2 ..."
    stub_tokens_per_s    float >= 0, 0    speed of each generation; 0: as fast as it can
    stub_first_token_s   float >= 0, 0    silence before the first token
    stub_context         int >= 1, 4096   words of a prompt; a longer one is context_length_exceeded
    stub_load_s          float >= 0, 0    how long it loads
    stub_load_fail       text or null     the load fails, with this message
    stub_load_crash      bool, false      the process kills itself while it loads
    stub_load_hang       bool, false      the load never ends
    stub_memory_mib      int >= 0, 0      memory that a load takes, a little at each step, and keeps
    stub_ignore_sigterm  bool, false      only SIGKILL ends the process
    stub_directives      bool, true       whether a request may say more, see below
    stub_image_input     bool, false      the model takes images (it looks at none of them)

With stub_directives, a last user message that starts with "/stub " steers its own generation. Directives
follow, with spaces between, and then any text:

    tokens=N tokens_per_s=R first_token_s=S
    echo            answer with the text            echo_json    answer with the whole request as JSON
    thinking=N      N reasoning tokens first ("enabled" thinking alone gives 4)
    tool_call=NAME  call this tool with {"echo": text}; no text of its own unless tokens=N is said
    error=CODE      the generation fails with this code
    crash_after=N   the engine kills itself after N tokens (signal=SEGV: by that signal)
    exit0_after=N   the engine ends with code 0         garbage_after=N  the engine writes what is no frame
    hang_after=N    the engine stays alive, silent and deaf
    stall_after=N   only this generation falls silent, and can be cancelled

It honours max_tokens (reasoning counts), stop strings and slots. Usage counts words of all messages as
input, an image as one word, and of these, those that begin an earlier prompt of this engine as cached.
"""

from __future__ import annotations

import sys

from backends.base import Launch
from backends.catalogue import BACKENDS
from backends.shared.pipe_engine import EngineCommand, PipeEngine, start_pipe_engine
from backends.shared.start import starting


class StubAdapter:
    """Fulfils `Adapter`."""

    name = "stub"

    def start(self, launch: Launch) -> PipeEngine:
        """See `Adapter.start`."""
        options = {**BACKENDS[self.name].with_defaults(launch.model.options), "slots": launch.slots}
        with starting(launch) as start:  # it needs nothing of a site: -S starts it sooner
            return start_pipe_engine(start, EngineCommand([sys.executable, "-S"], "stub", options))


ADAPTER = StubAdapter()
