"""One platform for each data folder."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from config.settings import ROOT
from stoker.data_folder_lock import PATIENCE_S, Busy, Lock

HEIR = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from stoker.data_folder_lock import Lock
lock = Lock(Path(sys.argv[2]))
if os.fork() == 0:
    time.sleep(0.5)
"""


def test_a_second_one_on_the_same_folder_is_refused_in_one_sentence(tmp_path):
    first = Lock(tmp_path)

    with pytest.raises(Busy, match=f"process {os.getpid()}\\) uses {tmp_path}; stop it first, or"):
        Lock(tmp_path)
    os.close(first.fd)
    os.close(Lock(tmp_path).fd)


def test_what_a_dead_owner_left_behind_is_waited_for(tmp_path):
    # a server that inherited the lock needs a moment more than its killed supervisor
    subprocess.run([sys.executable, "-c", HEIR, str(ROOT), str(tmp_path)], check=True)
    began = time.monotonic()

    os.close(Lock(tmp_path).fd)
    assert 0.1 < time.monotonic() - began < PATIENCE_S
