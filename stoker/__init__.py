"""The command line, and the supervision of a platform on one machine (`stoker up`)."""

import sys
from pathlib import Path

# The packages have common names (api, config, tasks). An editable install searches them after all of
# site-packages, and `python -m` after the current folder: so the project's root comes first in `sys.path`.
_ROOT = str(Path(__file__).resolve().parent.parent)
sys.path[:] = [_ROOT, *(entry for entry in sys.path if entry != _ROOT)]
