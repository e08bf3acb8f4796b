"""Parts that live, die, will not die, and must not be left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from config.settings import ROOT
from stoker.managed_process import Plan, last_lines
from stoker.supervisor import Asked, PartDied

from .conftest import SLEEPER, STUBBORN, eventually, lives, plan

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


def test_a_part_that_dies_is_started_again_and_it_is_said_why(supervisor, said, tmp_path):
    part = supervisor.start(plan("api", SLEEPER, tmp_path))
    supervisor.starting = False
    first = part.pid
    os.kill(first, signal.SIGKILL)

    assert supervisor.until(lambda: part.pid not in (None, first), 5)
    assert said == [
        f"api killed by SIGKILL; starting it again in 0.5 s (log: {tmp_path / 'api.log'})",
        "api started again",
    ]


def test_a_part_that_always_dies_is_started_ever_more_rarely(supervisor, said, tmp_path):
    supervisor.start(plan("api", "raise SystemExit(3)", tmp_path))
    supervisor.starting = False
    began = time.monotonic()

    assert supervisor.until(lambda: len(said) >= 5, 10)
    assert time.monotonic() - began > 0.5 + 1.0
    assert [line.split(" (")[0] for line in said if "exited" in line] == [
        "api exited with code 3; starting it again in 0.5 s",
        "api exited with code 3; starting it again in 1 s",
        "api exited with code 3; starting it again in 2 s",
    ]


def test_a_program_that_cannot_be_run_any_more_is_tried_again_later(supervisor, said, tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nsleep 600\n")
    program.chmod(0o700)
    part = supervisor.start(Plan("x", [str(program)]))
    supervisor.starting = False
    program.unlink()
    part.signal(signal.SIGKILL)

    assert supervisor.until(lambda: len(said) >= 2, 5)
    assert said[1].startswith("x could not be started: No such file or directory; starting it again in")


def test_the_end_of_a_part_while_starting_is_an_error_with_its_last_lines(supervisor, tmp_path):
    code = "print('a', flush=True); raise SystemExit('no such thing')"
    part = supervisor.start(plan("api", code, tmp_path))

    with pytest.raises(PartDied, match="api exited with code 1") as died:
        supervisor.until(lambda: False, 5)
    assert died.value.part is part
    assert last_lines(part.plan.log, 1) == ["no such thing"]


def test_parts_are_stopped_rank_by_rank(supervisor, tmp_path):
    order = str(tmp_path / "order")
    parts = [
        supervisor.start(plan(name, NOTE.format(pause, order, name), tmp_path, rank=rank))
        for name, rank, pause in (("redis", 9, 0), ("worker", 2, 0.2), ("api", 1, 0.4))
    ]
    assert eventually(lambda: all("up\n" in part.plan.log.read_text() for part in parts))

    assert supervisor.stop() is True
    assert (tmp_path / "order").read_text() == "apiworkerredis"


def test_a_part_that_ignores_sigterm_is_killed_after_its_time(supervisor, tmp_path):
    part = supervisor.start(plan("deaf", STUBBORN, tmp_path, stop_s=0.3))
    pid = part.pid
    assert eventually(lambda: last_lines(part.plan.log) == ["deaf"])
    began = time.monotonic()

    assert supervisor.stop() is False
    assert 0.3 <= time.monotonic() - began < 3
    assert not lives(pid)


def test_a_signal_ends_the_run_and_a_second_one_kills_at_once(supervisor, tmp_path):
    part = supervisor.start(plan("deaf", STUBBORN, tmp_path, stop_s=600))
    assert eventually(lambda: last_lines(part.plan.log) == ["deaf"])
    supervisor.starting = False
    signal.raise_signal(signal.SIGINT)
    supervisor.run()  # returns: somebody asked

    began = time.monotonic()
    signal.raise_signal(signal.SIGTERM)
    supervisor.stop()
    assert time.monotonic() - began < 3


def test_a_signal_while_starting_is_not_lost(supervisor):
    signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Asked):
        supervisor.until(lambda: False, 5)


def test_what_a_part_left_behind_in_its_group_is_killed(supervisor, tmp_path):
    part = supervisor.start(plan("parent", PARENT, tmp_path))
    assert eventually(lambda: last_lines(part.plan.log))
    (line,) = last_lines(part.plan.log)
    grandchild = int(line)
    os.kill(part.pid, signal.SIGKILL)

    supervisor.starting = False
    assert supervisor.until(lambda: not lives(grandchild), 5)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of their parent's death")
def test_no_part_outlives_a_supervisor_that_is_killed():
    code = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(ROOT)!r})
        from stoker.managed_process import Plan
        from stoker.supervisor import Supervisor
        supervisor = Supervisor(print)
        deaf = [sys.executable, "-S", "-c", {STUBBORN!r}]
        parts = [supervisor.start(Plan(name, deaf)) for name in ("api", "worker")]
        print(*(part.pid for part in parts), flush=True)
        supervisor.run()
        """
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent:
        line = next(line for line in parent.stdout if "deaf" not in line)
        pids = [int(word) for word in line.split()]
        assert all(lives(pid) for pid in pids)
        parent.kill()

    assert eventually(lambda: not any(lives(pid) for pid in pids))


def test_every_start_is_marked_in_the_log_and_only_the_last_one_is_quoted(supervisor, said, tmp_path):
    part = supervisor.start(plan("api", "import os; print(os.getpid())", tmp_path))
    supervisor.starting = False

    assert supervisor.until(lambda: len(said) >= 3, 5)
    assert part.plan.log.read_text().count("==== api starts, ") == 2
    assert len(last_lines(part.plan.log)) == 1


def test_a_very_long_log_is_put_aside(supervisor, tmp_path, monkeypatch):
    monkeypatch.setattr("stoker.managed_process.MAX_LOG_BYTES", 10)
    (tmp_path / "api.log").write_text("much too long")
    supervisor.start(plan("api", SLEEPER, tmp_path))

    assert (tmp_path / "api.log.1").read_text() == "much too long"
    assert "much" not in (tmp_path / "api.log").read_text()
