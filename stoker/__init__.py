"""The command line, and the supervision of a platform on one machine (`stoker up`).

Each process of Stoker imports this first. So what its surroundings would change in it is undone here: the
order of `sys.path`, and variables of other programs, before a library reads them.
"""

import os
import sys
import warnings
from pathlib import Path

# The packages have common names (api, config, tasks). An editable install searches them after all of
# site-packages, and `python -m` after the current folder: so the project's root comes first in `sys.path`.
_ROOT = str(Path(__file__).resolve().parent.parent)
sys.path[:] = [_ROOT, *(entry for entry in sys.path if entry != _ROOT)]

from config.foreign_variables import foreign_variables  # noqa: E402 - after the change of `sys.path`


def _remove_foreign_variables() -> None:
    """Remove the variables of other programs, and undo what Python has made of them."""
    foreign = {name: os.environ.pop(name) for name in foreign_variables(os.environ)}
    added = foreign.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [entry for entry in sys.path if entry == _ROOT or entry not in added]
    if "PYTHONWARNINGS" in foreign:
        warnings.resetwarnings()
        for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)


_remove_foreign_variables()
