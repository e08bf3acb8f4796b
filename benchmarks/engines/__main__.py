"""`python -m benchmarks.engines`: measure, log the progress to stderr, print the tables to stdout."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import cli
from benchmarks.engines import full_round
from benchmarks.engines.pairs import LLAMA_CPP, LLAMA_SERVER, PAIRS, VLLM, BenchmarkModel, Setup
from benchmarks.engines.report import bars, cpu_table, speed_table
from benchmarks.engines.rounds import EngineSample, run
from benchmarks.engines.weights import DEMO, write_demo, write_large
from benchmarks.generator_process import BenchmarkError
from benchmarks.processes import running
from config.load import load_settings
from engines.environments import EnvironmentMissing, interpreter
from engines.environments.python import ENVIRONMENT_OF_BACKEND

DEFAULT_ENGINES = (LLAMA_SERVER, VLLM)
"""The engines that are measured without `--only`, and that have bars."""

QUICK = (2, 1.0)

PRINT_VERSION = """
import sys
from importlib.metadata import PackageNotFoundError, version
for name in sys.argv[1:]:
    try:
        print(name, version(name))
        break
    except PackageNotFoundError:
        pass
"""


def models(folder: Path) -> list[BenchmarkModel]:
    """Write both models."""
    large = folder / "large.gguf"
    parameters = write_large(large, folder / "large")
    write_demo(folder / "demo")
    return [
        BenchmarkModel("demo", "the demo model", DEMO, folder / "demo", has_bar=False),
        BenchmarkModel("large", f"{parameters / 1e6:.0f}M parameters", large, folder / "large", has_bar=True),
    ]


def library_version(environments: Path, backend: str) -> str:
    """Name and version of a backend's library. Raises `EnvironmentMissing` with the way to install it."""
    python = interpreter(environments, backend)
    argv = [str(python), "-c", PRINT_VERSION, *ENVIRONMENT_OF_BACKEND[backend].dists]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()


def installed_engines(environments: Path, names: Sequence[str]) -> dict[str, str]:
    """The installed engines and the versions of their libraries; missing ones are named on stderr."""
    found = {}
    for engine in names:
        try:
            found[engine] = library_version(environments, engine)
        except EnvironmentMissing as error:
            print(f"{engine} is left out: {error}", file=sys.stderr)
    return found


def measure_engines(
    engines: Mapping[str, str], environments: Path, options: argparse.Namespace, log: cli.Log
) -> tuple[list[BenchmarkModel], list[EngineSample]]:
    """Start each engine with each model in turn, and measure it."""
    samples: list[EngineSample] = []
    with tempfile.TemporaryDirectory(prefix="stoker-bench-") as root:
        log("writing the models")
        written = models(Path(root))
        for engine in engines:
            for model in written:
                folder = Path(root, f"{engine}-{model.name}")
                folder.mkdir()
                with running(log) as processes:
                    pair = PAIRS[engine](Setup(processes, folder, environments, log), model)
                    samples += run(pair, options.rounds, options.seconds, log)
    return written, samples


def measure_full_rounds(
    engines: Sequence[str], environments: Path, rounds: int, log: cli.Log
) -> list[full_round.FullRoundSample]:
    """Measure each engine with the large model before and after a round on all slots."""
    with tempfile.TemporaryDirectory(prefix="stoker-bench-") as root:
        large, setup = models(Path(root))[1], Setup([], Path(root), environments, log)
        return [sample for engine in engines for sample in full_round.run(engine, large, rounds, setup)]


def measure(options: argparse.Namespace, log: cli.Log) -> cli.Report:
    """Measure the installed engines. Raises `BenchmarkError` if there is none."""
    environments = load_settings().runtimes_dir
    names = [options.only] if options.only else [*DEFAULT_ENGINES, LLAMA_CPP]
    found = installed_engines(environments, names)
    engines = {engine: version for engine, version in found.items() if engine in PAIRS}
    scattering = [engine for engine in found if engine in full_round.ENGINES]
    if not found:
        raise BenchmarkError("there is no engine to be measured")
    written, samples = measure_engines(engines, environments, options, log)
    full_rounds = measure_full_rounds(scattering, environments, options.rounds, log)
    sections = []
    if engines:
        sections += [speed_table(samples, list(engines), written), cpu_table(samples, list(engines), written)]
    if with_bars := [engine for engine in engines if engine in DEFAULT_ENGINES]:
        sections.append(bars(samples, with_bars, written))
    if full_rounds:
        sections.append(full_round.bars(full_rounds))
    facts = {"engines": ", ".join(found.values())}
    method = f"{options.rounds} rounds of about {options.seconds} s"
    return cli.Report([*samples, *full_rounds], facts, method, "\n\n".join(sections))


def main() -> int:
    """Run the benchmark. Returns the exit code."""
    os.environ["OMP_NUM_THREADS"] = "1"  # as an engine on a GPU, which leaves CPU time for the platform
    parser = cli.create_parser("benchmarks.engines", __doc__, seconds=3.0, quick="coarse")
    parser.add_argument("--only", choices=(*PAIRS, LLAMA_CPP), help="measure this engine only")
    return cli.run(parser, QUICK, measure)


if __name__ == "__main__":
    sys.exit(main())
