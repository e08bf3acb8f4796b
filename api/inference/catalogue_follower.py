"""Keeps one API process's catalogue up to date: twice a second, and for models that it does not know."""

from __future__ import annotations

import asyncio
import logging
import time

from api.http.polling import sleep_until_tick
from config.settings import ModelDefinition
from fleet.catalogue import ModelCatalogue, unknown_model
from fleet.models_file import ModelsFile
from store.async_connection import AsyncConnection
from store.errors import StokerError
from store.scripts import redis_errors_translated

logger = logging.getLogger("api")

FOLLOW_S = 0.5
GAP_S = 0.1
"""The least time between two reads for unknown names, whatever their number: clients choose the names."""


class CatalogueFollower:
    """Reads the dynamic models for an event loop, over its connection; see `ModelCatalogue`.

    `file` follows the registered ones among them.
    """

    def __init__(
        self, catalogue: ModelCatalogue, connection: AsyncConnection, file: ModelsFile | None = None
    ) -> None:
        self._catalogue = catalogue
        self._file = file
        self._connection = connection
        self._next_read: asyncio.Task[None] | None = None
        self._read_at = float("-inf")

    def read_if_possible(self) -> None:
        """Read in the calling thread; while Redis is unreachable that is left to `run`."""
        try:
            self._read()
        except StokerError as error:
            logger.warning("the dynamic models in Redis cannot be read yet: %s", error.message)

    async def run(self) -> None:
        """Follow all changes until cancelled."""
        reachable = True
        while True:
            await sleep_until_tick(FOLLOW_S)
            try:
                await self._follow()
                reachable = True
            except StokerError as error:
                if reachable:
                    logger.warning("the models stay as they are: %s", error.message)
                reachable = False
            except Exception:
                logger.exception("the changes of the dynamic models cannot be followed")

    async def definition(self, name: str) -> ModelDefinition:
        """The model of that name, after a read that begins now or within `GAP_S`: one for all that wait.

        Raises `UnknownModel`, `StorageUnavailable`.
        """
        if self._catalogue.may_exist(name):
            if self._next_read is None:
                self._next_read = asyncio.create_task(self._read_after_gap())
            await asyncio.shield(self._next_read)
        found = self._catalogue.get(name)
        if found is None:
            raise unknown_model(name)
        return found

    async def _read_after_gap(self) -> None:
        await asyncio.sleep(max(0.0, self._read_at + GAP_S - time.monotonic()))
        self._next_read = None  # names that come from now on need a later read
        self._read_at = time.monotonic()
        await self._follow()

    async def _follow(self) -> None:
        keys = [self._catalogue.version_key, *([] if self._file is None else [self._file.revision_key])]
        with redis_errors_translated():
            replies = await self._connection.exchange([("GET", key) for key in keys])
            for reply in replies:
                if isinstance(reply, Exception):
                    raise reply
        file_is_due = self._file is not None and self._file.is_due(replies[1])
        if self._catalogue.take_version(replies[0]) or file_is_due:
            await asyncio.to_thread(self._read)

    def _read(self) -> None:
        if self._file is not None:
            self._file.sync()
        self._catalogue.refresh()
