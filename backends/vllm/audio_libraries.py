"""The libraries with which vLLM reads recordings: its environments lack most of them (its extra `audio`).

vLLM imports them with the first recording, so a load without them would succeed and each such request fail.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from backends.vllm.arguments import refused

MODULES = ("av", "soundfile", "torchaudio")
TIMEOUT_S = 60.0

_CHECK = f"import importlib.util as u, sys; sys.exit(3 * any(u.find_spec(m) is None for m in {MODULES}))"
_MISSING = 3


def check_audio_libraries(python: Path, flag: str, environment: Mapping[str, str] | None = None) -> None:
    """Raise `LoadError` if a Python lacks them that is started with this flag and these variables."""
    command = [str(python), flag, "-c", _CHECK]
    variables = None if environment is None else {**os.environ, **environment}
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
            env=variables,
        )
    except (OSError, subprocess.TimeoutExpired):
        return  # the start of the engine says what is wrong with it
    if ended.returncode == _MISSING:
        raise refused(
            f"vllm_audio_input needs {', '.join(MODULES)}, which {python} does not have: run `python3 -m"
            " venv vllm-audio && vllm-audio/bin/pip install 'vllm[audio]'`, and set vllm_python to the path"
            " of vllm-audio/bin/python"
        )
