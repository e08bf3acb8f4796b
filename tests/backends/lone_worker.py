"""A minimal worker: starts one engine, prints its pid and waits to be killed."""

import ast
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd()))

from backends.base import Launch
from backends.registry import adapter
from config.load import load_settings
from config.settings import ModelDefinition
from tests.support.generations import engine_loop

model = ModelDefinition("model", **ast.literal_eval(sys.argv[2]))
environments = load_settings().runtimes_dir
directory = Path(sys.argv[1])
launch = Launch(
    *(model, "model-0", 1, directory, environments, lambda *_progress: None, lambda _exit: None),
    engine_loop(),
    files=directory / "files",
)
engine = adapter(model.backend).start(launch)
print(engine.pid, flush=True)
signal.pause()
