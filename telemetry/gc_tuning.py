"""Tuning of the garbage collector for a long-lived process."""

from __future__ import annotations

import gc


def tune_gc() -> None:
    """Exempt all present objects from garbage collection, and make collections rarer. Call it after start-up.

    A request creates a few hundred objects and hardly any reference cycle; with the default thresholds the
    collector would traverse all objects of Celery and Flask several times a second.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
