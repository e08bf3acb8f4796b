"""The runtimes' environments: which there are, how one is made, whose Python an engine gets."""

from workers.environments.python import EnvironmentMissing, interpreter

__all__ = ["EnvironmentMissing", "interpreter"]
