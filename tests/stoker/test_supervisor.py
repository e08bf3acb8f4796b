"""Processes that run, die, ignore SIGTERM, and must not outlive the supervisor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from config.settings import ROOT
from stoker.managed_process import Backoff, ProcessPlan, last_lines
from stoker.supervisor import ProcessDied, StopRequested
from tests.support.waiting import scaled, wait_until

from .conftest import SLEEPER, STUBBORN, is_alive, plan

NOTE = """
import signal, sys, time
def end(*_):
    time.sleep({})
    open({!r}, "a").write({!r})
    sys.exit()
signal.signal(signal.SIGTERM, end)
print("up", flush=True)
time.sleep(600)
"""
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""


def test_a_process_that_dies_is_restarted_and_the_reason_is_reported(supervisor, reports, tmp_path):
    process = supervisor.start(plan("api", SLEEPER, tmp_path))
    supervisor.starting = False
    first = process.pid
    os.kill(first, signal.SIGKILL)

    assert supervisor.wait_until(lambda: process.pid not in (None, first), scaled(5))
    assert reports == [
        f"api killed by SIGKILL; starting it again in 0.5 s (log: {tmp_path / 'api.log'})",
        "api started again",
    ]


def test_a_process_that_always_dies_is_restarted_with_growing_delays(supervisor, reports, tmp_path):
    supervisor.start(plan("api", "raise SystemExit(3)", tmp_path))
    supervisor.starting = False
    began = time.monotonic()

    assert supervisor.wait_until(lambda: len(reports) >= 5, scaled(10))
    assert time.monotonic() - began > 0.5 + 1.0
    assert [line.split(" (")[0] for line in reports if "exited" in line] == [
        "api exited with code 3; starting it again in 0.5 s",
        "api exited with code 3; starting it again in 1 s",
        "api exited with code 3; starting it again in 2 s",
    ]


def test_a_program_that_cannot_be_run_is_retried_later(supervisor, reports, tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nsleep 600\n")
    program.chmod(0o700)
    process = supervisor.start(ProcessPlan("x", [str(program)]))
    supervisor.starting = False
    program.unlink()
    process.signal(signal.SIGKILL)

    assert supervisor.wait_until(lambda: len(reports) >= 2, scaled(5))
    assert reports[1].startswith("x could not be started: No such file or directory; starting it again in")


def test_the_end_of_a_process_while_starting_is_an_error_with_its_last_lines(supervisor, tmp_path):
    code = "print('a', flush=True); raise SystemExit('no such thing')"
    process = supervisor.start(plan("api", code, tmp_path))

    with pytest.raises(ProcessDied, match="api exited with code 1") as died:
        supervisor.wait_until(lambda: False, scaled(5))
    assert died.value.process is process
    assert last_lines(process.plan.log, 1) == ["no such thing"]


def test_processes_are_stopped_rank_by_rank(supervisor, tmp_path):
    order = str(tmp_path / "order")
    processes = [
        supervisor.start(plan(name, NOTE.format(pause, order, name), tmp_path, rank=rank))
        for name, rank, pause in (("redis", 9, 0), ("worker", 2, 0.2), ("api", 1, 0.4))
    ]
    wait_until(lambda: all("up\n" in process.plan.log.read_text() for process in processes))

    assert supervisor.stop() is True
    assert (tmp_path / "order").read_text() == "apiworkerredis"


def test_a_process_that_ignores_sigterm_is_killed_after_its_timeout(supervisor, tmp_path):
    process = supervisor.start(plan("stubborn", STUBBORN, tmp_path, stop_s=0.3))
    pid = process.pid
    wait_until(lambda: last_lines(process.plan.log) == ["ready"])
    began = time.monotonic()

    assert supervisor.stop() is False
    assert 0.3 <= time.monotonic() - began < scaled(3)
    assert not is_alive(pid)


def test_a_signal_ends_the_run_and_a_second_one_kills_at_once(supervisor, tmp_path):
    process = supervisor.start(plan("stubborn", STUBBORN, tmp_path, stop_s=600))
    wait_until(lambda: last_lines(process.plan.log) == ["ready"])
    supervisor.starting = False
    signal.raise_signal(signal.SIGINT)
    supervisor.run()  # returns, because of the signal

    began = time.monotonic()
    signal.raise_signal(signal.SIGTERM)
    supervisor.stop()
    assert time.monotonic() - began < scaled(3)


def test_a_signal_while_starting_is_not_lost(supervisor):
    signal.raise_signal(signal.SIGTERM)

    with pytest.raises(StopRequested):
        supervisor.wait_until(lambda: False, scaled(5))


def test_remaining_processes_in_the_group_of_a_dead_process_are_killed(supervisor, tmp_path):
    process = supervisor.start(plan("parent", PARENT, tmp_path))
    wait_until(lambda: last_lines(process.plan.log))
    (line,) = last_lines(process.plan.log)
    grandchild = int(line)
    os.kill(process.pid, signal.SIGKILL)

    supervisor.starting = False
    assert supervisor.wait_until(lambda: not is_alive(grandchild), scaled(5))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a parent-death signal")
def test_no_process_outlives_a_killed_supervisor():
    code = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(ROOT)!r})
        from stoker.managed_process import ProcessPlan
        from stoker.supervisor import Supervisor
        supervisor = Supervisor(print)
        stubborn = [sys.executable, "-S", "-c", {STUBBORN!r}]
        processes = [supervisor.start(ProcessPlan(name, stubborn)) for name in ("api", "worker")]
        print(*(process.pid for process in processes), flush=True)
        supervisor.run()
        """
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent:
        line = next(line for line in parent.stdout if "ready" not in line)
        pids = [int(word) for word in line.split()]
        assert all(is_alive(pid) for pid in pids)
        parent.kill()

    wait_until(lambda: not any(is_alive(pid) for pid in pids))


def test_each_start_is_marked_in_the_log_and_only_the_lines_since_the_last_are_quoted(
    supervisor, reports, tmp_path
):
    process = supervisor.start(plan("api", "import os; print(os.getpid())", tmp_path))
    supervisor.starting = False

    assert supervisor.wait_until(lambda: len(reports) >= 3, scaled(5))
    assert process.plan.log.read_text().count("==== api starts, ") == 2
    assert len(last_lines(process.plan.log)) == 1


def test_a_log_is_bounded_while_its_process_keeps_it_open(supervisor, tmp_path, monkeypatch):
    monkeypatch.setattr("stoker.process_log.MAX_LOG_BYTES", 1000)
    monkeypatch.setattr("stoker.supervisor.CHECK_INTERVAL_S", 0.01)
    code = """
import time
for number in range(100_000):
    print(f"line {number:06} " + "x" * 80, flush=True)
    time.sleep(0.002)
"""
    process = supervisor.start(plan("api", code, tmp_path))
    log = process.plan.log
    old = [log.with_name(f"api.log.{number}") for number in (1, 2, 3, 4)]
    assert supervisor.wait_until(old[2].exists, scaled(10))
    seen = [0]

    def continues():
        lines = [line for line in log.read_text().splitlines() if line.startswith("line ")]
        seen.extend(int(line.split()[1]) for line in lines[-1:])
        return seen[-1] > seen[0] + 100

    seen[0] = int(old[0].read_text().splitlines()[-1].split()[1])
    assert supervisor.wait_until(continues, scaled(10))
    process.kill()
    assert not old[3].exists()
    assert all(path.stat().st_size < 100_000 for path in (log, *old[:3]))
    assert "\0" not in log.read_text()  # the process appends at the new end, and leaves no hole
    assert old[0].stat().st_mode & 0o077 == 0


def test_a_large_log_is_rotated_when_its_process_starts(supervisor, tmp_path, monkeypatch):
    monkeypatch.setattr("stoker.process_log.MAX_LOG_BYTES", 20)
    (tmp_path / "api.log").write_text("much longer than it may be")
    supervisor.start(plan("api", SLEEPER, tmp_path))

    assert (tmp_path / "api.log.1").read_text() == "onger than it may be"  # the latest part
    assert "longer" not in (tmp_path / "api.log").read_text()


def test_the_delay_doubles_up_to_ten_seconds():
    backoff = Backoff()

    assert [backoff.after(1) for _ in range(7)] == [0.5, 1, 2, 4, 8, 10, 10]


def test_the_delay_is_reset_after_30_seconds_of_uptime():
    backoff = Backoff()
    for _ in range(5):
        backoff.after(1)

    assert backoff.after(30) == 0.5
    assert backoff.after(29) == 1


def test_the_end_of_an_optional_process_while_starting_is_no_error(supervisor, reports, tmp_path):
    process = supervisor.start(plan("monitor", "raise SystemExit(1)", tmp_path, is_optional=True))

    assert supervisor.wait_until(lambda: process.restart_at is not None, scaled(10))
    assert reports[0].startswith("monitor exited with code 1; starting it again in 0.5 s")
