"""The overhead of the platform over an instant engine, compared with a bare proxy in one alternating run.

`python -m benchmarks` (or `make bench`); `docs/benchmarks.md` explains the tables.
"""
