"""What an engine's log says of a request that it refuses: the kind of the error and its place in the code.

The error's message may quote the request, which no log has.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import PurePath


def log_refusal(error: BaseException) -> None:
    """Write a line on stderr: `refused: UndefinedError at <template>:12`."""
    print(f"refused: {kind_and_place(error)}", file=sys.stderr, flush=True)


def kind_and_place(error: BaseException) -> str:
    """The class of an error, and the file and line of its raise, if it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{at}"
