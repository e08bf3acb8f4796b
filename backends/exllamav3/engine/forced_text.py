"""Text that a running job is made to write next.

Source: `Job.constrain_output_now` in `exllamav3/generator/job.py` of version 1.6.
"""

from __future__ import annotations

from typing import Any


def append_text(job: Any, text: str) -> None:
    """Make an enqueued job write a text next; its special tokens are such.

    The library disables a job's filters then, since they may not accept the text. The caller's text has to be
    one that they accept: they stay as they are, and follow it.
    """
    active = [filter_.is_active for filter_ in job.filters]
    suspended = job.filters_suspended
    job.constrain_output_now(text)
    job.filters_suspended = suspended
    for filter_, was_active in zip(job.filters, active, strict=True):
        filter_.is_active = was_active
