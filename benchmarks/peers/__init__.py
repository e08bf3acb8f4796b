"""Stoker beside LiteLLM, SMG and vllm-router in one alternating run, with one upstream for all.

`python -m benchmarks.peers` (or `make bench-peers`); `docs/benchmarks.md` explains the tables.
"""
