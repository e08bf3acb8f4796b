"""Well-behaved clients, in a process of their own, that measure their requests while others attack the API.

`python -m tests.support.bystanders HOST PORT KEY MODEL FILE` sends requests until it is killed, and appends
one line per request to FILE: kind, time of its begin by the system's monotonic clock, seconds, status (0: no
answer). A process of its own, so that a busy test does not delay the clients that it measures.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tests.support.waiting import scaled

TIMEOUT_S = 5.0
HEALTH, GENERATION = "health", "generation"
INTERVALS_S = {HEALTH: 0.02, GENERATION: 0.05}
WINDOW_S = 0.3
FLOOR_S = 0.03
"""A p95 may grow by this much in any case: on a busy machine that is noise."""


@dataclass(frozen=True)
class Sample:
    """One request: its kind, when it began, the seconds that it took, the status of the answer."""

    kind: str
    began: float
    seconds: float
    status: int


class Measurement:
    """The time of an attack. Latencies count from `held` on: `opened` excludes the work of many requests."""

    def __init__(self, began: float) -> None:
        self.began = self.held = began

    def opened(self) -> None:
        """Called when the attackers have sent their requests, and only hold what they have."""
        self.held = time.monotonic()


class Bystanders:
    """The running process, and what it has measured so far."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._quiet: list[float] = []  # the p95 of each quiet time, in seconds

    def samples(self, began: float, ended: float) -> list[Sample]:
        """The requests that began in this time. Waits until all of them have ended."""
        deadline = time.monotonic() + scaled(TIMEOUT_S + 2)
        while True:
            samples = [_parse(line) for line in self._file.read_text().splitlines(keepends=True)]
            if {sample.kind for sample in samples if sample.began > ended} == set(INTERVALS_S):
                return [sample for sample in samples if began <= sample.began <= ended]
            assert time.monotonic() < deadline, "the well-behaved clients send no more requests"
            time.sleep(0.01)

    def p95(self, began: float, ended: float) -> float:
        """The p95 of /health in seconds in the best window of this time: what other programs on the machine
        cause is in some windows, what an attack causes in all. Fails if any request of these clients failed.
        """
        samples = self.samples(began, ended)
        failed = [sample for sample in samples if sample.status != 200]
        assert not failed, f"requests of well-behaved clients failed: {failed[:5]}"
        windows: dict[int, list[float]] = {}
        for sample in samples:
            if sample.kind == HEALTH:
                windows.setdefault(int((sample.began - began) / WINDOW_S), []).append(sample.seconds)
        # a window that is cut off at its end has few requests, and so have all when each request takes long
        whole = [window for window in windows.values() if len(window) >= 5]
        return min(map(_p95, whole or windows.values()), default=0.0)

    @contextlib.contextmanager
    def undisturbed(self, turns_s: float = 0.0) -> Iterator[Measurement]:
        """Fails if the block makes /health slower than twice its quiet p95 or makes any request fail.

        `turns_s` is the time of the requests that have a turn before one to /health: one of each address.
        """
        quiet_began = time.monotonic()
        time.sleep(2 * WINDOW_S)
        measurement = Measurement(time.monotonic())
        yield measurement
        ended = time.monotonic()
        self._quiet.append(self.p95(quiet_began, measurement.began))
        quiet = statistics.median(self._quiet)
        self.p95(measurement.began, measurement.held)  # nothing failed
        disturbed = self.p95(measurement.held, ended)
        said = f"p95 of /health: {1000 * disturbed:.1f} ms, {1000 * quiet:.1f} ms when quiet"
        print(said)
        assert disturbed <= max(2 * quiet, quiet + FLOOR_S) + turns_s, said


def _p95(values: list[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1))]


def _parse(line: str) -> Sample:
    if not line.endswith("\n"):
        return Sample("", 0.0, 0.0, 0)  # written at this moment
    kind, began, seconds, status = line.split()
    return Sample(kind, float(began), float(seconds), int(status))


@contextlib.contextmanager
def bystanders(address: tuple[str, int], key: str, model: str, file: Path) -> Iterator[Bystanders]:
    """Start the clients, and kill them at the end. `model` is a loaded model with the stub backend."""
    file.touch()
    host, port = address
    process = subprocess.Popen([sys.executable, "-m", __name__, host, str(port), key, model, str(file)])
    try:
        yield Bystanders(file)
    finally:
        process.kill()
        process.wait()


def main(host: str, port: str, key: str, model: str, file: str) -> None:
    """Send requests of both kinds for ever."""
    body = json.dumps({"model": model, "input": "/stub tokens=2"})
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    kept = http.client.HTTPConnection(host, int(port), timeout=scaled(TIMEOUT_S))

    def health() -> int:
        # a connection for each request: the clients also have to be accepted
        connection = http.client.HTTPConnection(host, int(port), timeout=scaled(TIMEOUT_S))
        try:
            connection.request("GET", "/health", headers={"Connection": "close"})
            return _status(connection)
        finally:
            connection.close()

    def generation() -> int:
        try:
            kept.request("POST", "/v1/responses", body, headers)
            return _status(kept)
        except (OSError, http.client.HTTPException):
            kept.close()  # the next request opens it again
            raise

    with Path(file).open("a", buffering=1) as output:
        threading.Thread(target=_repeat, args=(output, GENERATION, generation), daemon=True).start()
        _repeat(output, HEALTH, health)


def _status(connection: http.client.HTTPConnection) -> int:
    answer = connection.getresponse()
    answer.read()
    return answer.status


def _repeat(output: TextIO, kind: str, send: Callable[[], int]) -> None:
    while True:
        began = time.monotonic()
        try:
            status = send()
        except (OSError, http.client.HTTPException):
            status = 0
        seconds = time.monotonic() - began
        output.write(f"{kind} {began:.6f} {seconds:.6f} {status}\n")
        time.sleep(max(0.0, INTERVALS_S[kind] - seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
