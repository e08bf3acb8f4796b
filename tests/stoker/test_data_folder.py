"""The lock of a data folder."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from config.settings import ROOT
from stoker.data_folder import INHERITED_LOCK_WAIT_S, DataFolderInUse, DataFolderLock

PROGRAM_WITH_CHILD = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from stoker.data_folder import DataFolderLock
lock = DataFolderLock(Path(sys.argv[2]))
if os.fork() == 0:
    time.sleep(0.5)
"""


def test_a_second_lock_on_the_same_folder_is_refused_in_one_sentence(tmp_path):
    first = DataFolderLock(tmp_path)

    with pytest.raises(DataFolderInUse, match=f"process {os.getpid()}\\) uses {tmp_path}; stop it first, or"):
        DataFolderLock(tmp_path)
    os.close(first.fd)
    os.close(DataFolderLock(tmp_path).fd)


def test_the_lock_waits_for_the_processes_of_a_dead_owner(tmp_path):
    # a server that inherited the lock needs a moment more than its killed supervisor
    subprocess.run([sys.executable, "-c", PROGRAM_WITH_CHILD, str(ROOT), str(tmp_path)], check=True)
    began = time.monotonic()

    os.close(DataFolderLock(tmp_path).fd)
    assert 0.1 < time.monotonic() - began < INHERITED_LOCK_WAIT_S
