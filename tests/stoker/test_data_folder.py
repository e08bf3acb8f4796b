"""The lock of a data folder."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time

import pytest

from config.settings import ROOT
from stoker.data_folder import (
    INHERITED_LOCK_WAIT_S,
    START_BYTES,
    DataFolderInUse,
    DataFolderLock,
    DataFolderUnusable,
)
from tests.support.waiting import scaled

PROGRAM_WITH_CHILD = """
import os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from stoker.data_folder import DataFolderLock
lock = DataFolderLock(Path(sys.argv[2]))
if os.fork() == 0:
    sys.stdin.read()
"""
"""Its child holds the lock until the end of its input."""


def test_a_second_lock_on_the_same_folder_is_refused_in_one_sentence(tmp_path):
    first = DataFolderLock(tmp_path)

    with pytest.raises(DataFolderInUse, match=f"process {os.getpid()}\\) uses {tmp_path}; stop it first, or"):
        DataFolderLock(tmp_path)
    os.close(first.fd)
    os.close(DataFolderLock(tmp_path).fd)


def test_the_lock_waits_for_the_processes_of_a_dead_owner(tmp_path):
    # a server that inherited the lock needs a moment more than its killed supervisor
    command = [sys.executable, "-c", PROGRAM_WITH_CHILD, str(ROOT), str(tmp_path)]
    owner = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert owner.stdin is not None
    assert owner.wait(scaled(30)) == 0
    began = time.monotonic()
    release = threading.Timer(0.3, owner.stdin.close)
    release.start()

    os.close(DataFolderLock(tmp_path).fd)
    assert 0.3 <= time.monotonic() - began < INHERITED_LOCK_WAIT_S
    release.join()


@pytest.mark.parametrize(("name", "reason"), [("file", "File exists"), ("file/sub", "Not a directory")])
def test_a_folder_that_cannot_be_made_is_refused_with_the_setting(tmp_path, name, reason):
    (tmp_path / "file").touch()

    with pytest.raises(DataFolderUnusable, match=f"{reason}.*choose another one with STOKER_DATA_DIR"):
        DataFolderLock(tmp_path / name)


def test_a_full_disk_is_refused_before_anything_starts(tmp_path):
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (START_BYTES - 1, limit[1]))
    try:
        with pytest.raises(DataFolderUnusable, match="File too large"):
            DataFolderLock(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, ignored)
    assert list(tmp_path.iterdir()) == []
