"""Gets a model's files from a hub before its engine starts: runs the program that downloads them."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from backends.base import CancellationToken, LoadError
from backends.catalogue import BACKENDS
from config.hub_artifact import HubArtifact
from config.settings import ROOT, HubSettings, ModelDefinition
from fleet.file_work import artifacts_of, with_paths
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
    model: ModelDefinition,
    hub: HubSettings,
    cancellation: CancellationToken,
    report: Report,
    *,
    records: Path,
) -> ModelDefinition:
    """The model with the paths of its files on this host, downloaded if they were missing.

    These are its own, and those that its options name. A model whose files are given by paths is returned as
    it is. `records` is the folder of `DownloadRecords`. Raises `LoadError` (load_cancelled, disk_full,
    hash_mismatch, hub_not_installed, hub_offline, hub_unreachable, hub_not_found, ...).
    """
    try:
        artifacts = artifacts_of(model)
    except ValueError as error:
        raise LoadError("load_failed", str(error)) from None
    if not artifacts:
        return model
    paths = local_artifacts(artifacts, model, hub, cancellation, report, records=records)
    return with_paths(model, {str(artifact): str(path) for artifact, path in paths.items()})


def local_artifacts(  # noqa: PLR0913 - see `with_local_files`
    artifacts: Sequence[HubArtifact],
    model: ModelDefinition,
    hub: HubSettings,
    cancellation: CancellationToken,
    report: Report,
    *,
    records: Path,
) -> dict[HubArtifact, Path]:
    """The artifacts of a model with their paths on this host. Raises as `with_local_files`."""
    cached = {artifact: cached_path(artifact) for artifact in artifacts}
    here = {artifact: path for artifact, path in cached.items() if path is not None}
    missing = [artifact for artifact in artifacts if artifact not in here]
    pinned = all(artifact.is_pinned for artifact in artifacts) and not model.model_sha256
    if not missing and (pinned or hub_is_offline(hub) or find_spec("huggingface_hub") is None):
        return here
    if missing and hub_is_offline(hub):
        raise LoadError("hub_offline", OFFLINE.format(artifact=missing[0]))
    try:
        return _download(artifacts, model, hub, cancellation, report, records=records)
    except LoadError as error:
        # an engine that crashed must not wait for the hub: what was loaded before is there
        if missing or error.code != "hub_unreachable" or model.model_sha256:
            raise
        logger.warning("%s; using what was downloaded before", error)
        return here


def hub_is_offline(hub: HubSettings) -> bool:
    """Whether nothing may be downloaded, by the configuration or by Hugging Face's own variable."""
    return hub.offline or os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")


def _download(  # noqa: PLR0913 - see `with_local_files`
    artifacts: Sequence[HubArtifact],
    model: ModelDefinition,
    hub: HubSettings,
    cancellation: CancellationToken,
    report: Report,
    *,
    records: Path,
) -> dict[HubArtifact, Path]:
    asked = {
        "artifacts": [str(artifact) for artifact in artifacts],
        "records": str(records),
        "sha256": dict(model.model_sha256),
        "keep_free_bytes": hub.keep_free_mib * MIB,
        "weights": list(BACKENDS[model.backend].weight_files),
    }
    report(0.0, f"asking the hub for {artifacts[0].repository}", None)
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
    if result.paths is not None:
        return dict(zip(artifacts, map(Path, result.paths), strict=True))
    if result.stalled:
        raise LoadError(
            "hub_unreachable", f"the hub sent nothing for {STALL_S:g} s; the next load continues from there"
        )
    last = b" | ".join(log).decode("utf-8", "replace").strip()
    code, message = result.failure or ("load_failed", f"the download ended with {process.returncode}: {last}")
    raise LoadError(code, f"{artifacts[0]}: {message}")


class _Result:
    """What the program has written: progress, and at last the paths or a failure."""

    def __init__(self, report: Report) -> None:
        self.paths: list[str] | None = None  # of the artifacts, on this host
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
        if "paths" in written:
            self.paths = written["paths"]
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
        if rate > 0:
            stage += f", {rate / 1e6:.1f} MB/s"
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
