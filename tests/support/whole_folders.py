"""Gives test files to the processes of pytest-xdist, and all files of some folders to one of them."""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadFileScheduling

WHOLE_FOLDERS = ("tests/journeys/shared_platform/",)
"""Folders whose tests share a platform, which each process would start for itself."""


class WholeFolderScheduling(LoadFileScheduling):  # type: ignore[misc] - xdist has no types
    """Runs the tests of a file, or of such a folder, in one process."""

    def _split_scope(self, nodeid: str) -> str:
        folder = next((folder for folder in WHOLE_FOLDERS if nodeid.startswith(folder)), None)
        return folder or str(super()._split_scope(nodeid))


class WholeFolders:
    """The plugin, for `--dist loadfile`."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: object) -> LoadFileScheduling | None:
        """Return the scheduler; None leaves the choice to pytest-xdist."""
        return WholeFolderScheduling(config, log) if config.getvalue("dist") == "loadfile" else None
