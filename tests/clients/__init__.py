"""Clients that people use, each in a program of its own, against a running platform (docs/clients.md)."""
