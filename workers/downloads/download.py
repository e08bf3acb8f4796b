"""Gets a model's files from a hub before its engine starts: runs the program that downloads them."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from backends.base import CancellationToken, LoadError
from backends.catalogue import BACKENDS
from config.hub_artifact import HubArtifact, parse
from config.settings import ROOT, HubSettings, ModelDefinition
from fleet.hub_cache import cached_path
from fleet.hub_environment import hub_environment

logger = logging.getLogger("workers")

END_S = 5.0
"""How long the program may take to end after SIGTERM."""

STALL_S = 180.0
"""A download without a new byte for this time has failed; each connection has a much shorter limit."""

RATE_WINDOW_S = 15.0
OFFLINE = "{artifact} is not on this host, and hub.offline is set: put it there, or allow downloads"
MIB = 1024 * 1024

Report = Callable[[float, str, float | None], None]
"""Called with the share of the download that is done, a stage for people, and the seconds left or None."""


def with_local_files(
    model: ModelDefinition, hub: HubSettings, cancellation: CancellationToken, report: Report
) -> ModelDefinition:
    """The model with the path of its files on this host, downloaded if they were missing.

    So are the files that its options name: a projector, a draft, adapters. A model whose files are given by
    paths is returned as it is. Raises `LoadError` (load_cancelled, disk_full, hash_mismatch,
    hub_not_installed, hub_offline, hub_unreachable, hub_not_found, ...).
    """

    def local(path: str | None, *, takes_ids: bool = False, sha256: Mapping[str, str] | None = None) -> Any:
        try:
            artifact = parse(path, takes_ids=takes_ids)
        except ValueError as error:
            raise LoadError("load_failed", str(error)) from None
        if artifact is None:
            return path
        return _local_path(artifact, replace(model, model_sha256=sha256 or {}), hub, cancellation, report)

    takes_ids = BACKENDS[model.backend].takes_hub_ids
    path = local(model.model_path, takes_ids=takes_ids, sha256=model.model_sha256)
    further = {}
    for option in BACKENDS[model.backend].options:
        value = model.options.get(option.name) if option.artifact else None
        if isinstance(value, Mapping):
            further[option.name] = {name: local(file) for name, file in value.items()}
        elif isinstance(value, str):
            further[option.name] = local(value)
    options = {**model.options, **further}
    if path == model.model_path and options == model.options:
        return model
    return replace(model, model_path=path, options=options)


def _local_path(
    artifact: HubArtifact,
    model: ModelDefinition,
    hub: HubSettings,
    cancellation: CancellationToken,
    report: Report,
) -> str:
    """The path of an artifact on this host, downloaded if it was missing."""
    cached = cached_path(artifact)
    pinned = artifact.is_pinned and not model.model_sha256
    if cached is not None and (pinned or hub_is_offline(hub) or find_spec("huggingface_hub") is None):
        return str(cached)
    if hub_is_offline(hub):
        raise LoadError(
            "hub_offline",
            OFFLINE.format(artifact=artifact),
        )
    try:
        path = _download(artifact, model, hub, cancellation, report)
    except LoadError as error:
        # an engine that crashed must not wait for the hub: what was loaded before is there
        if cached is None or error.code != "hub_unreachable" or model.model_sha256:
            raise
        logger.warning("%s; using what was downloaded before", error)
        path = cached
    return str(path)


def hub_is_offline(hub: HubSettings) -> bool:
    """Whether nothing may be downloaded, by the configuration or by Hugging Face's own variable."""
    return hub.offline or os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")


def _download(
    artifact: HubArtifact,
    model: ModelDefinition,
    hub: HubSettings,
    cancellation: CancellationToken,
    report: Report,
) -> Path:
    asked = {
        "artifact": str(artifact),
        "sha256": dict(model.model_sha256),
        "keep_free_bytes": hub.keep_free_mib * MIB,
        "weights": list(BACKENDS[model.backend].weight_files),
    }
    report(0.0, f"asking the hub for {artifact.repository}", None)
    result = _Result(report)
    with subprocess.Popen(
        [sys.executable, "-m", "workers.downloads.program"],
        cwd=ROOT,
        env=hub_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        log: deque[bytes] = deque(maxlen=5)
        assert process.stdin is not None  # noqa: S101 - pipes were asked for
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101
        reader = threading.Thread(target=log.extend, args=(process.stderr,), daemon=True)
        reader.start()
        with _Watch(process, result), cancellation.on_cancel(lambda: _end(process)):
            with suppress(OSError):  # it has ended already
                process.stdin.write(orjson.dumps(asked) + b"\n")
                process.stdin.flush()  # and left open: its end shows the program that the worker is gone
            for line in process.stdout:
                result.take(line)
        _end(process)
        with suppress(OSError):
            process.stdin.close()
        reader.join(END_S)
    if cancellation.cancelled:
        raise LoadError("load_cancelled", "the load was cancelled while its files were downloaded")
    if result.path is not None:
        return Path(result.path)
    if result.stalled:
        raise LoadError(
            "hub_unreachable", f"the hub sent nothing for {STALL_S:g} s; the next load continues from there"
        )
    last = b" | ".join(log).decode("utf-8", "replace").strip()
    code, message = result.failure or ("load_failed", f"the download ended with {process.returncode}: {last}")
    raise LoadError(code, f"{artifact}: {message}")


class _Result:
    """What the program has written: progress, and at last the path or a failure."""

    def __init__(self, report: Report) -> None:
        self.path: str | None = None  # the artifact's, on this host
        self.failure: tuple[str, str] | None = None
        self.stalled = False
        self.changed_at = time.monotonic()
        self._report = report
        self._samples: deque[tuple[float, int]] = deque()

    def take(self, line: bytes) -> None:
        """Take one line of the program's output."""
        try:
            written: Mapping[str, Any] = orjson.loads(line)
        except orjson.JSONDecodeError:
            return
        if "path" in written:
            self.path = written["path"]
        elif "code" in written:
            self.failure = written["code"], written["message"]
        elif "total" in written:
            self._progress(min(written["done"], written["total"]), written["total"])

    def _progress(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._samples or done != self._samples[-1][1]:
            self.changed_at = now
        self._samples.append((now, done))
        while now - self._samples[0][0] > RATE_WINDOW_S:
            self._samples.popleft()
        first_at, first = self._samples[0]
        rate = (done - first) / (now - first_at) if now > first_at else 0.0
        left = (total - done) / rate if rate > 0 else None
        unit, name = (1e9, "GB") if total >= 1e8 else (1e6, "MB")
        stage = f"downloading: {done / unit:.2f} of {total / unit:.2f} {name}"
        self._report(done / total if total else 1.0, stage, left)


class _Watch:
    """Ends the program when it makes no progress for `STALL_S`."""

    def __init__(self, process: subprocess.Popen[bytes], result: _Result) -> None:
        self._process, self._result = process, result
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._done.wait(1.0):
            if time.monotonic() - self._result.changed_at > STALL_S:
                self._result.stalled = True
                _end(self._process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program; the parts that it has written stay."""
    for stop in (process.terminate, process.kill):
        if process.poll() is not None:
            return
        with suppress(ProcessLookupError):
            stop()
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
