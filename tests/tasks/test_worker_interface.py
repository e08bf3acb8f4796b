"""The worker that the tasks of a process call."""

from __future__ import annotations

from typing import Any

import pytest

from tasks import worker_interface


def test_a_process_without_a_worker_runs_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_interface._Process, "worker", None)
    with pytest.raises(RuntimeError, match="stoker worker"):
        worker_interface.current_worker()


def test_the_current_worker_is_the_one_that_was_set(fake_worker: Any) -> None:
    worker_interface.set_current_worker(fake_worker)
    assert worker_interface.current_worker() is fake_worker
