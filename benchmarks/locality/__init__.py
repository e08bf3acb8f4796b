"""Compares where and when requests run for the sake of cached prompts: simulated, and with real engines."""
