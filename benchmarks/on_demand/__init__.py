"""Simulates loads on demand in virtual time: the platform's own scripts and choice, against other choices."""
