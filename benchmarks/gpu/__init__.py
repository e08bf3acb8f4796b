"""Measures the engines on a GPU, with models of random weights (`make bench-gpu`)."""
