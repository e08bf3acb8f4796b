"""Reads what a model's files are, within bounds and without running anything of them."""
