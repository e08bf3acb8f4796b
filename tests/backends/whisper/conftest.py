"""A loaded engine of the tiny model that ships with Stoker, and folders of jobs with uploads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.backends.conftest import Launched, Launcher
from tests.backends.whisper.speech import JobFolders, whisper


@pytest.fixture(scope="session")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> JobFolders:
    """The folder of files that all engines of these tests read uploads from."""
    return JobFolders(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def engine(jobs: JobFolders, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    """One engine with four slots, for all tests that do not damage it.

    The tiny model knows no text before a window, so it gets none.
    """
    launcher = Launcher(tmp_path_factory.mktemp("whisper"))
    options = {"whisper_previous_text": False, "whisper_max_seconds": 600, "whisper_beam_size": 1}
    yield launcher(whisper(**options), slots=4, files=jobs.root)
    launcher.stop_all()
