"""The command line: a front door that wires the rooms and does nothing itself."""

import sys
from pathlib import Path

# Our rooms have plain names (api, config, tasks), and an editable install looks for them behind everything in
# site-packages, `python -m` behind the current folder: put the project's root first, before any is imported.
_ROOT = str(Path(__file__).resolve().parent.parent)
sys.path[:] = [_ROOT, *(entry for entry in sys.path if entry != _ROOT)]
