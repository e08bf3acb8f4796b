"""Starts an engine host: `python -I start.py NAME ARGUMENT...` runs `main` of NAME.py in this folder.

A host runs in isolated mode, so that neither the folder it is started from nor an environment variable
decides what it imports. This folder is mounted as a package of its own; nothing is put on the path.
"""

import sys

PACKAGE = "stoker_engines"

if __name__ == "__main__":
    package = type(sys)(PACKAGE)
    package.__path__ = [__file__.rpartition("/")[0]]
    sys.modules[PACKAGE] = package
    module = __import__(f"{PACKAGE}.{sys.argv[1]}", fromlist=["main"])
    module.main(sys.argv[2:])
