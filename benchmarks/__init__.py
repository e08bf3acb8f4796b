"""What the platform adds to an instant engine, against a bare proxy in the same alternating run.

`python -m benchmarks` (or `make bench`); `docs/benchmarks.md` says how to read what it prints.
"""
