"""Begins the loads that requests of this process wait for: at once, in a thread, one look at a time.

The workers look as well (`workers/agent.py`), so a process that ends loses nothing.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace

from fleet.catalogue import ModelCatalogue
from fleet.fleet import Fleet
from fleet.on_demand.service import OnDemand
from scheduler.job import Job
from store.errors import StokerError

logger = logging.getLogger("api")

GAP_S = 0.1
"""The least time between two looks, whatever the number of requests."""


class DemandLooker:
    """Looks for models to load when a request waits for one. For the event loop's thread only."""

    def __init__(self, fleet: Fleet) -> None:
        self._on_demand = OnDemand(fleet)
        self._is_wanted = asyncio.Event()

    def wake(self) -> None:
        """A request waits for a model that is not loaded."""
        self._is_wanted.set()

    async def run(self) -> None:
        """Look whenever it is wanted, and when a model that waits has its turn, until cancelled."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_wanted.wait(), self._on_demand.again_s)
            self._is_wanted.clear()
            try:
                if not await asyncio.to_thread(self._look):
                    self.wake()
            except StokerError as error:
                logger.info("no model is loaded on demand, the workers look later: %s", error.message)
            except Exception:
                logger.exception("the models to load on demand cannot be decided")
            await asyncio.sleep(GAP_S)

    def _look(self) -> bool:
        """Take the steps that are due; returns False if another process decides at this moment."""
        from tasks.definitions import notify_workers  # noqa: PLC0415 - Celery is a heavy import, and only this needs it

        outcomes = self._on_demand.look()
        for outcome in outcomes or ():
            notify_workers(outcome)
        return outcomes is not None


def add_load_choice(job: Job, catalogue: ModelCatalogue) -> Job:
    """The job, which waits for a model that is loaded on demand unless the request says otherwise."""
    if job.load_on_demand is not None:
        return job
    model = catalogue.get(job.model)
    return replace(job, load_on_demand=True) if model is not None and model.on_demand == "load" else job
