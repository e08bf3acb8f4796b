"""The garbage collector, as a long-lived process wants it."""

from __future__ import annotations

import gc


def settle() -> None:
    """Called once a process is set up: what is there now stays, so it need not be looked at again and again.

    A request makes a few hundred objects and hardly a cycle; at the default thresholds the collector would
    walk all of Celery and Flask several times a second.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
