"""`python -m benchmarks.engines`: measure, tell how it goes on stderr, print the tables on stdout."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from benchmarks.engines import managed, vllm
from benchmarks.engines.library import library
from benchmarks.engines.pair import Model, Pair, Place
from benchmarks.engines.report import bars, shares, speeds
from benchmarks.engines.rounds import Sample, run
from benchmarks.engines.weights import DEMO, write_demo, write_large
from benchmarks.generator import Broken
from benchmarks.machine import about
from benchmarks.parts import running
from config.errors import ConfigError
from config.load import load_settings
from workers.environments import EnvironmentMissing

PAIRS: Mapping[str, Callable[[Place, Model], Pair]] = {
    managed.LLAMA_SERVER: managed.llama_server,
    vllm.NAME: vllm.pair,
    managed.VLLM_SERVE: managed.vllm_serve,
}
BARRED = (managed.LLAMA_SERVER, vllm.NAME)
"""The engines that are measured unless one is named."""

QUICK = (2, 1.0)


def options() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="beside the one that warms up (5)")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement, about (3)")
    parser.add_argument("--quick", action="store_true", help="coarse")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there")
    parser.add_argument("--only", choices=PAIRS, help="this engine alone")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.rounds, chosen.seconds = QUICK
    if chosen.rounds < 1 or chosen.seconds <= 0:
        parser.error("--rounds and --seconds must be positive")
    return chosen


def models(folder: Path) -> list[Model]:
    """Write both models."""
    large = folder / "large.gguf"
    parameters = write_large(large, folder / "large")
    write_demo(folder / "demo")
    return [
        Model("demo", "the demo model", DEMO, folder / "demo", barred=False),
        Model("large", f"{parameters / 1e6:.0f}M parameters", large, folder / "large", barred=True),
    ]


def present(environments: Path, only: str | None) -> dict[str, str]:
    """The engines that can be run here, with the version of each; the others are told of on stderr."""
    found = {}
    for engine in [only] if only else BARRED:
        try:
            found[engine] = library(environments, engine)
        except EnvironmentMissing as error:
            print(f"{engine} is left out: {error}", file=sys.stderr)
    return found


def measured(
    engines: Mapping[str, str], environments: Path, chosen: argparse.Namespace, say: Callable[[str], None]
) -> tuple[list[Model], list[Sample]]:
    """Start each pair in turn and measure it."""
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory(prefix="stoker-bench-") as named:
        say("writing the models")
        asked = models(Path(named))
        for engine in engines:
            for model in asked:
                folder = Path(named, f"{engine}-{model.name}")
                folder.mkdir()
                with running(say) as parts:
                    pair = PAIRS[engine](Place(parts, folder, environments, say), model)
                    samples += run(pair, chosen.rounds, chosen.seconds, say)
    return asked, samples


def main() -> int:
    """Run; the exit code."""
    if sys.platform != "linux":
        print("the benchmark reads /proc and uses epoll: it runs on Linux only", file=sys.stderr)
        return 2
    chosen = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is stopped on the way out
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {text}", file=sys.stderr, flush=True)

    try:
        environments = load_settings().runtimes_dir
        engines = present(environments, chosen.only)
        if not engines:
            return 1
        here = {**about(), "engines": ", ".join(engines.values())}
        asked, samples = measured(engines, environments, chosen, say)
    except (Broken, ConfigError, OSError) as error:
        print(f"the benchmark has failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if chosen.json:
        document = {"about": here, "samples": [asdict(sample) for sample in samples]}
        chosen.json.write_text(json.dumps(document, indent=1) + "\n")
    for name, text in here.items():
        print(f"- {name}: {text}")
    print(f"- {chosen.rounds} rounds of about {chosen.seconds} s\n")
    print(f"{speeds(samples, list(engines), asked)}\n\n{shares(samples, list(engines), asked)}")
    if barred := [engine for engine in engines if engine in BARRED]:
        print(f"\n{bars(samples, barred, asked)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
