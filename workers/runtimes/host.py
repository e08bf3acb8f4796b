"""Starts an engine host: `python -I host.py NAME ARGUMENT...` runs `main` of `workers.runtimes.NAME`.

A host runs in isolated mode, with this project put on the path here, so that neither the folder it is started
from nor an environment variable decides what it imports.
"""

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.abspath(f"{__file__}/../../.."))  # noqa: PTH100 - pathlib costs our start
    module = __import__(f"workers.runtimes.{sys.argv[1]}", fromlist=["main"])
    module.main(sys.argv[2:])
