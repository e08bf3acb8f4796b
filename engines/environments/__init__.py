"""Installs and lists the runtimes' environments, and finds the Python that a backend's engines run in."""

from engines.environments.python import EnvironmentMissing, interpreter

__all__ = ["EnvironmentMissing", "interpreter"]
