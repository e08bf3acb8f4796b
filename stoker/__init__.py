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
    """Remove the variables of other programs, and undo what Python has made of them.

    The folders of PYTHONPATH may be those of another program, or the only ones that have the libraries. So
    they come last in `sys.path`, and the variable is kept for further processes. Engines and installers,
    which run under other Pythons, do not get it.
    """
    foreign = {name: os.environ.pop(name) for name in foreign_variables(os.environ)}
    named = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    added = {entry: None for given in named for entry in (given, os.path.abspath(given))}  # noqa: PTH100
    last = [entry for entry in sys.path if entry in added and entry != _ROOT]
    sys.path[:] = [entry for entry in sys.path if entry not in last] + last
    if "PYTHONWARNINGS" in foreign:
        warnings.resetwarnings()
        for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)


_remove_foreign_variables()
