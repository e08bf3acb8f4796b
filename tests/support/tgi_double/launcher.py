"""The double of text-generation-launcher: checks its arguments, and runs the router as a process of its own.

Like the true one it gives the router a process group of its own, and ends when the router has ended. The
router ends with the launcher, whose pipe it reads. A model folder with a file `fails` makes it write that
file to its log and fail.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

FLAGS = (
    *("--model-id", "--hostname", "--port", "--prometheus-port", "--master-port", "--shard-uds-path"),
    *("--usage-stats", "--max-concurrent-requests", "--max-stop-sequences", "--payload-limit"),
    *("--lora-adapters", "--max-total-tokens", "--max-input-tokens", "--dtype", "--quantize"),
    *("--kv-cache-dtype", "--cuda-memory-fraction", "--num-shard", "--max-batch-prefill-tokens"),
)


def main(arguments: list[str]) -> int:
    """Run until the router has ended. Returns the exit status."""
    unknown = [flag for flag in arguments[::2] if flag not in FLAGS]
    if unknown:
        print(f"error: unexpected argument '{unknown[0]}' found", file=sys.stderr)
        return 2
    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    fails = Path(given["--model-id"]) / "fails"
    if fails.exists():
        print(fails.read_text(), flush=True)
        return 1
    router = subprocess.Popen(
        [sys.executable, "-I", "-S", Path(__file__).with_name("router.py"), *arguments],
        stdin=subprocess.PIPE,
        env={**os.environ},
        process_group=0,
    )
    signal.signal(signal.SIGTERM, lambda *_: router.terminate())
    return abs(router.wait())


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
