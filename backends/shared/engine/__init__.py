"""What runs inside an engine's process: the standard library, the runtime's own libraries, and these files.

They import each other relatively and nothing else of ours: an engine runs under the Python of its runtime's
environment, where this folder is mounted alone (see `start.py`), so that no room of ours hides a library
there.
"""
