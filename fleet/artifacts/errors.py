"""Why files cannot be loaded as a model."""

from __future__ import annotations


class UnusableArtifact(Exception):
    """Raised when files are no model that a backend runs; the message says why."""
