"""The stub: a backend without a model, for tests and benchmarks."""
