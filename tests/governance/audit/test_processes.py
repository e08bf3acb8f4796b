"""Several processes record at once, and are killed between the file and Redis."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from config.settings import ROOT, Settings
from governance.audit import AuditLog
from governance.audit.verification import read_files, verify
from tests.governance.audit.conftest import event
from tests.governance.audit.recording_process import POINTS

COUNT = 12


def start(settings: Settings, folder: Path, name: str, point: str = "") -> subprocess.Popen[bytes]:
    module = "tests.governance.audit.recording_process"
    arguments = (settings.redis.url, settings.redis.prefix, str(folder), name, str(COUNT), point)
    return subprocess.Popen([sys.executable, "-m", module, *arguments], cwd=ROOT)


def check(audit: AuditLog, names: list[str]) -> None:
    """The chain has each event once, in Redis and in the file alike."""
    assert audit.sync()
    assert audit.finding() is None
    verified = verify(read_files(audit.file.paths()))
    assert verified.finding is None
    records = [record for record in audit.records() if record.actor != "platform"]
    assert sorted(record.subject for record in records) == sorted(names)
    assert [record.line for record in audit.file.latest(10_000)] == [
        record.line for record in audit.records()
    ]


@pytest.mark.hostile
def test_eight_processes_of_two_hosts_record_one_chain(
    audit: AuditLog, other_host: AuditLog, settings: Settings
) -> None:
    names = [f"p{number}" for number in range(8)]
    folders = (audit.file.folder, other_host.file.folder)
    started = [start(settings, folders[at % 2], name) for at, name in enumerate(names)]
    assert [process.wait() for process in started] == [0] * 8
    recorded = [f"{name}-{number}" for name in names for number in range(COUNT)]
    check(audit, recorded)
    check(other_host, recorded)
    check(audit, recorded)


@pytest.mark.parametrize("point", POINTS)
def test_a_process_that_is_killed_between_file_and_redis_leaves_a_whole_chain(
    audit: AuditLog, settings: Settings, point: str
) -> None:
    killed = start(settings, audit.file.folder, "killed", point)
    assert killed.wait() == -signal.SIGKILL
    audit.record(event("afterwards"))
    check(audit, ["killed-0", "killed-1", "afterwards"])


@pytest.mark.hostile
def test_the_processes_of_a_host_go_on_when_others_are_killed(audit: AuditLog, settings: Settings) -> None:
    names = ["one", "two"]
    started = [start(settings, audit.file.folder, name) for name in names]
    killed = [start(settings, audit.file.folder, f"killed{at}", point) for at, point in enumerate(POINTS)]
    assert [process.wait() for process in killed] == [-signal.SIGKILL] * len(POINTS)
    assert [process.wait() for process in started] == [0] * 2
    assert audit.sync()
    expected = [f"{name}-{number}" for name in names for number in range(COUNT)]
    subjects = [record.subject for record in audit.records()]
    for at in range(len(POINTS)):
        own = [subject for subject in subjects if subject.startswith(f"killed{at}-")]
        assert own == [f"killed{at}-{number}" for number in range(len(own))]
        expected += own
    check(audit, expected)
