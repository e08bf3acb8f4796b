"""`python -m benchmarks.engines`: measure, tell how it goes on stderr, print the tables on stdout."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks import cli as command
from benchmarks.engines import managed, vllm
from benchmarks.engines.library import library
from benchmarks.engines.pair import Model, Pair, Place
from benchmarks.engines.report import bars, shares, speeds
from benchmarks.engines.rounds import Sample, run
from benchmarks.engines.weights import DEMO, write_demo, write_large
from benchmarks.generator_process import Broken
from benchmarks.platform import running
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
    engines: Mapping[str, str], environments: Path, chosen: argparse.Namespace, say: command.Say
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


def measure(chosen: argparse.Namespace, say: command.Say) -> command.Report:
    """Measure the engines that are here. Raises `Broken` where there is none."""
    environments = load_settings().runtimes_dir
    engines = present(environments, chosen.only)
    if not engines:
        raise Broken("there is no engine to be measured")
    asked, samples = measured(engines, environments, chosen, say)
    told = [speeds(samples, list(engines), asked), shares(samples, list(engines), asked)]
    if barred := [engine for engine in engines if engine in BARRED]:
        told.append(bars(samples, barred, asked))
    beside = {"engines": ", ".join(engines.values())}
    manner = f"{chosen.rounds} rounds of about {chosen.seconds} s"
    return command.Report(samples, beside, manner, "\n\n".join(told))


def main() -> int:
    """Run; the exit code."""
    os.environ["OMP_NUM_THREADS"] = "1"  # beside a GPU, too, an engine leaves the platform processors
    parser = command.parser("benchmarks.engines", __doc__, seconds=3.0, quick="coarse")
    parser.add_argument("--only", choices=PAIRS, help="this engine alone")
    return command.run(parser, QUICK, measure)


if __name__ == "__main__":
    sys.exit(main())
