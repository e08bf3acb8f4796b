"""The program of a child process that runs one call of a file tool.

It gets the call as JSON on its standard input: `tool`, `params`, `cwd`, `directory`, `tenant` and `limits`
(`wall_s`, `max_file_bytes`, `max_bytes`, `max_files`, `max_result_bytes`), and writes the result as JSON. The
kernel ends it when it exceeds a limit of time: a regular expression of a client can take for ever. It has no
environment, and imports the standard library and its neighbours only.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
from typing import Any

MEMORY_BYTES = 512 * 1024 * 1024


def limit(limits: dict[str, Any]) -> None:
    """Bound what this process may use. The hard limit of time is a second later: SIGKILL."""
    cpu_s = math.ceil(limits["wall_s"])
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits["max_file_bytes"],) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.setitimer(signal.ITIMER_REAL, limits["wall_s"])  # SIGALRM ends it
    os.nice(10)


def run(call: dict[str, Any]) -> dict[str, Any]:
    """The result of the call; `{"error": text}` if the tool cannot do it."""
    from api.tools.files import reading, writing  # noqa: PLC0415 - after `limit`
    from api.tools.files.confined_folder import ConfinedFolder, ToolFault, parts_of  # noqa: PLC0415

    tools = {
        "read_file": reading.read_file,
        "file_glob_search": reading.file_glob_search,
        "grep_search": reading.grep_search,
        "write_file": writing.write_file,
        "edit_file": writing.edit_file,
    }
    try:
        folder = ConfinedFolder.open(call["directory"], call["tenant"])
    except OSError as error:
        return {"error": f"the folder of the tenant cannot be used: {error.strerror}"}
    try:
        return tools[call["tool"]](folder, call["params"], parts_of(call["cwd"]), call["limits"])
    except ToolFault as fault:
        return {"error": str(fault)}
    except OSError as error:
        return {"error": f"the tool has failed: {error.strerror}"}
    except (MemoryError, RecursionError):
        return {"error": "the call needs more memory than a tool may use"}


def main() -> None:
    """Run the program."""
    call = json.loads(sys.stdin.buffer.read())
    limit(call["limits"])
    # names of files may have bytes that are no UTF-8
    answer = json.dumps(run(call), ensure_ascii=False).encode("utf-8", "replace")
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()
    os._exit(0)


if __name__ == "__main__":
    # it runs isolated, which neither the working directory nor a variable can change
    sys.path.insert(0, __file__.removesuffix("api/tools/files/child.py"))
    main()
