"""`python -m benchmarks.gpu` (`make bench-gpu`): measure the installed engines on the first GPU."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import cli
from benchmarks.engines.__main__ import installed_engines
from benchmarks.engines.pairs import LLAMA_SERVER, VLLM, BenchmarkModel, Setup
from benchmarks.generator_process import BenchmarkError
from benchmarks.gpu.measure import ENGINES, EXLLAMAV3, GpuSample, run
from benchmarks.gpu.random_model import SHAPES, Shape, write_checkpoint, write_gguf
from benchmarks.gpu.report import missed, tables
from benchmarks.processes import running
from config.load import load_settings
from engines.nvml import Device, Driver, DriverError, devices

MODELS, STREAMS = ("8b", "0.6b"), (1, 8, 32, 64)
TINY_MODELS, TINY_STREAMS = ("tiny",), (1, 4)
CONTEXT = 1024
QUICK = (1, 1.0)
NO_GPU = "no NVIDIA GPU can be read here ({}); `make bench-gpu ARGS=--tiny` measures a tiny model on the CPU"
NO_BINARY = (
    "llama_server is left out: its package computes on the CPU;"
    " --llama-server-binary names one built for CUDA (docs/runtimes.md)"
)


def first_gpu() -> Device:
    """The first GPU. Raises `BenchmarkError`."""
    try:
        found = Driver().query(devices)
    except DriverError as error:
        raise BenchmarkError(NO_GPU.format(error)) from error
    if not found:
        raise BenchmarkError(NO_GPU.format("the driver reports none"))
    return found[0]


def write_model(folder: Path, shape: Shape, engines: Sequence[str]) -> BenchmarkModel:
    """Write a model in the formats that the engines read."""
    model = BenchmarkModel(
        shape.name, shape.name, folder / "model.gguf", folder / "checkpoint", has_bar=False
    )
    folder.mkdir()
    if set(engines) - {VLLM, EXLLAMAV3}:
        write_gguf(model.gguf, shape)
    if {VLLM, EXLLAMAV3} & set(engines):
        write_checkpoint(model.folder, shape)
    return model


def measure(options: argparse.Namespace, log: cli.Log) -> cli.Report:
    """Measure. Raises `BenchmarkError` without a GPU, and if no engine is installed."""
    gpu = None if options.tiny else first_gpu()
    environments = load_settings().runtimes_dir
    asked = options.engines or ENGINES
    if gpu is not None and LLAMA_SERVER in asked and options.llama_server_binary is None:
        print(NO_BINARY, file=sys.stderr)
        asked = [engine for engine in asked if engine != LLAMA_SERVER]
    engines = installed_engines(environments, asked)
    if not engines:
        raise BenchmarkError("there is no engine to be measured")
    names = options.models or (TINY_MODELS if options.tiny else MODELS)
    streams = sorted(options.streams or (TINY_STREAMS if options.tiny else STREAMS))
    samples: list[GpuSample] = []
    with tempfile.TemporaryDirectory(prefix="stoker-bench-", dir=options.directory) as root:
        for name in names:
            log(f"writing the model {name}")
            model = write_model(Path(root, name), SHAPES[name], list(engines))
            for engine in engines:
                folder = Path(root, f"{engine}-{name}")
                folder.mkdir()
                with running(log) as processes:
                    setup = Setup(
                        processes,
                        folder,
                        environments,
                        log,
                        device="cpu" if gpu is None else "cuda",
                        gpu="" if gpu is None else gpu.uuid,
                        slots=max(streams),
                        context=CONTEXT,
                        llama_server_binary=options.llama_server_binary,
                    )
                    samples += run(engine, model, streams, options.rounds, setup)
    where = "the CPU, whose figures say nothing about a GPU" if gpu is None else f"the GPU {gpu.name}"
    facts = {"engines": ", ".join(engines.values()), "measured on": where}
    method = (
        f"{options.rounds} measured after a warm-up round; prompts of 230 tokens and more, answers of 128"
    )
    return cli.Report(samples, facts, method, tables(samples), [] if gpu is None else missed(samples))


def main() -> int:
    """Run the benchmark. Returns the exit code."""
    parser = cli.create_parser("benchmarks.gpu", __doc__, seconds=1.0, quick="one round")
    parser.add_argument(
        "--engines", nargs="+", choices=ENGINES, help="measure these (all that are installed)"
    )
    parser.add_argument("--models", nargs="+", choices=tuple(SHAPES), help="measure these (8b 0.6b)")
    parser.add_argument("--streams", nargs="+", type=int, help="numbers of streams (1 8 32 64)")
    parser.add_argument(
        "--tiny", action="store_true", help="a tiny model on the CPU: a test of the benchmark"
    )
    parser.add_argument("--llama-server-binary", metavar="FILE", help="a llama-server built for CUDA")
    parser.add_argument("--directory", type=Path, help="for the models, 6 GB and more (the temporary folder)")
    if "--tiny" in sys.argv:
        os.environ["OMP_NUM_THREADS"] = "1"  # the platform needs the other cores
    return cli.run(parser, QUICK, measure)


if __name__ == "__main__":
    sys.exit(main())
