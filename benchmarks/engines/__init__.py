"""What the platform leaves of an engine's speed, against the same engine asked directly in the same run.

`python -m benchmarks.engines` (or `make bench-engines`); `docs/benchmarks.md` says how to read its tables.
"""
