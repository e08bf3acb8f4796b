"""The stub: a backend without a model, for tests, demonstrations and benchmarks without a GPU.

It is a real adapter with a real engine process, so that the whole platform can be run, tested and measured on
any machine. Its output is deterministic. A model's options (see `options.py`) set its speed, its context and
its failures while loading. `stub_memory_mib` is allocated in small steps while it loads, and stays allocated.
Images are accepted with stub_image_input, recordings with stub_audio_input; both are ignored.

With stub_directives, a last user message that begins with "/stub " controls its own generation. Directives
follow, separated by spaces, and then any text:

    tokens=N tokens_per_s=R first_token_s=S
    echo            answer with the text            echo_json    answer with the whole request as JSON
    thinking=N      N reasoning tokens first ("enabled" thinking alone gives 4)
    tool_call=NAME  call this tool with the text if it is a JSON object, else {"echo": text}; no answer
                    besides, unless tokens=N is given
    error=CODE      the generation fails with this code
    crash_after=N   the engine kills itself after N tokens (signal=SEGV: with that signal)
    exit0_after=N   the engine exits with code 0    garbage_after=N  the engine writes malformed data
    hang_after=N    the engine stays alive, but neither reads nor writes any more
    print=N         the text is written to the engine's log N times
    stall_after=N   only this generation stops producing output; it can be cancelled

With `stub_media` it answers no messages: "transcript" takes an upload for the text that is said in it,
"image" makes images of one colour, "speech" audio. Each text may begin with directives.

With an output format it answers the smallest value that fits the schema, unless it echoes; the arguments of a
strict tool fit its schema, too. It supports max_tokens (reasoning counts), stop strings, the fields of
`SAMPLING_FIELDS` (see `engine/sampled.py`) and slots. Usage counts the words of all messages as input tokens,
an image or a recording as one word; words that also begin an earlier prompt of the same cache namespace count
as cached.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from backends.base import EngineFacts, Launch
from backends.catalogue import BACKENDS
from backends.shared.media_files import result_path, upload_path
from backends.shared.pipe_engine import EngineCommand, PipeEngine, start_pipe_engine
from backends.shared.start import starting
from config.settings import ModelDefinition
from config.version import version
from generation.generation import Generation
from generation.media import AudioTask


class StubAdapter:
    """Fulfils `Adapter`."""

    name = "stub"

    def check(self, model: ModelDefinition, slots: int, environments: Path) -> None:
        """Nothing is needed."""

    def start(self, launch: Launch) -> PipeEngine:
        """Start a stub engine process."""
        options = {**BACKENDS[self.name].with_defaults(launch.model.options), "slots": launch.slots}
        with starting(launch) as start:  # it needs no site packages: -S starts it sooner
            command = EngineCommand(
                [sys.executable, "-S"], "stub", options, encode=partial(_request, launch.files)
            )
            engine = start_pipe_engine(start, command)
        engine.facts = EngineFacts(version=version())
        return engine


def _request(files: Path | None, generation: Generation) -> bytes:
    """The JSON form of a request, with the path of its upload, or of its folder, as `media_path`.

    Raises `GenerationError`.
    """
    task = generation.media
    if task is None:
        return generation.to_json()
    if isinstance(task, AudioTask):
        return generation.to_json(media_path=str(upload_path(files, task, task.file)))
    return generation.to_json(media_path=str(result_path(files, task, "image").parent))


ADAPTER = StubAdapter()
