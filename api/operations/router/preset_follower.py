"""Reads the presets file at the start of an API process, and again while not all of it could be done."""

from __future__ import annotations

import asyncio
import logging

from fleet.presets import PresetService
from store.errors import StokerError

logger = logging.getLogger("api")

RETRY_S = 5.0


class PresetFollower:
    """Keeps the registered models of presets as the file was at the start, or at the last reload."""

    def __init__(self, presets: PresetService) -> None:
        self._presets = presets

    async def run(self) -> None:
        """Run until cancelled; without a presets file it ends at once."""
        is_due = self._presets.is_configured
        while is_due or self._presets.is_configured:
            if is_due:
                try:
                    await asyncio.to_thread(self._presets.reload)
                except StokerError as error:
                    logger.warning("the presets file is read later: %s", error.message)
                except Exception:
                    logger.exception("the presets file could not be read")
            await asyncio.sleep(RETRY_S)
            is_due = self._presets.is_pending
