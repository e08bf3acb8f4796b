"""The Lua files of all folders: scripts, which Redis runs, and the includes that they share."""

from __future__ import annotations

from config.settings import ROOT

FOLDERS = ("store", "scheduler", "governance", "fleet", "api")

SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("**/lua/**/*.lua"))
SCRIPTS = [path for path in SOURCES if path.parent.name == "lua"]
