"""Logging, and the tuning of long-lived processes."""
