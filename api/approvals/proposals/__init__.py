"""Proposals over the API: their plans, their start, and changes of tenants and keys by proposals."""
