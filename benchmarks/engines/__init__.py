"""The share of an engine's speed that is left behind the platform, measured in one alternating run.

`python -m benchmarks.engines` (or `make bench-engines`); `docs/benchmarks.md` explains the tables.
"""
