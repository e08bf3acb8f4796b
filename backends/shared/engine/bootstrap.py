"""Starts an engine process: `python -I bootstrap.py BACKEND ARGUMENT...` runs `backends.BACKEND.engine.main`.

The process runs in isolated mode (-I), so neither its working directory nor an environment variable decides
what it imports. Only the `backends` folder is mounted, as a package; nothing is put on the import path.
"""

import sys

PACKAGE = "backends"

if __name__ == "__main__":
    package = type(sys)(PACKAGE)
    package.__path__ = [__file__.rpartition("/shared/engine/")[0]]
    sys.modules[PACKAGE] = package
    module = __import__(f"{PACKAGE}.{sys.argv[1]}.engine.main", fromlist=["main"])
    module.main(sys.argv[2:])
