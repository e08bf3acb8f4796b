"""Starts an engine process: `python -I bootstrap.py BACKEND ARGUMENT...` runs `backends.BACKEND.engine.main`.

A name with dots is another module of `backends` to run.

The process runs in isolated mode (-I), so neither its working directory nor an environment variable decides
what it imports. Only the `backends` folder is mounted, as a package; nothing is put on the import path.
"""

import sys

PACKAGE = "backends"

if __name__ == "__main__":
    package = type(sys)(PACKAGE)
    package.__path__ = [__file__.rpartition("/shared/engine/")[0]]
    sys.modules[PACKAGE] = package
    name = sys.argv[1] if "." in sys.argv[1] else f"{sys.argv[1]}.engine.main"
    module = __import__(f"{PACKAGE}.{name}", fromlist=["main"])
    module.main(sys.argv[2:])
