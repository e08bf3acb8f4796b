"""Looks every two seconds for approved proposals that were not started: a process may have ended in
between."""

from __future__ import annotations

import asyncio
import logging

from api.approvals.proposals.rules import any_proposals
from api.approvals.proposals.start import start_approved
from api.services import AppServices
from config.settings import Settings
from store.errors import StokerError

logger = logging.getLogger("api")

INTERVAL_S = 2.0


async def run(services: AppServices) -> None:
    """Look until cancelled; once only if nothing can be proposed, for what an earlier configuration has
    left."""
    reachable = True
    while True:
        try:
            await asyncio.to_thread(start_approved, services)
            reachable = True
        except StokerError as error:
            if reachable:
                logger.warning("approved proposals are not started: %s", error.message)
            reachable = False
        except Exception:
            logger.exception("approved proposals cannot be started")
        if reachable and not any_proposals(services[Settings]):
            return
        await asyncio.sleep(INTERVAL_S)
