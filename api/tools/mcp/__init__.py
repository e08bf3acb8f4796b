"""Servers of the Model Context Protocol, each with its client in a process of its own."""
