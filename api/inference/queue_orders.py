"""The orders of the queues as clients ask for them: read at most once a second for each model."""

from __future__ import annotations

from functools import partial

from api.http.read_cache import ReadCache
from scheduler.ledger import AsyncLedger
from scheduler.queue_view import Place, QueueOrder

MAX_AGE_S = 1.0
MIN_AGE_S = 0.1
"""A queue is not read more often than this, whoever asks."""

MAX_QUEUES = 1000


class QueueOrders:
    """Reads the orders of queues, and keeps each for a second. For the event loop's thread only."""

    def __init__(self, ledger: AsyncLedger) -> None:
        self._ledger = ledger
        self._orders: ReadCache[QueueOrder] = ReadCache(MAX_AGE_S, MAX_QUEUES)

    async def order(self, model: str, max_age_s: float = MAX_AGE_S) -> QueueOrder:
        """The order of a queue. Calls at the same time share one read. Raises `StorageUnavailable`."""
        return await self._orders.get_async(model, partial(self._ledger.queue_order, model), max_age_s)

    async def places(
        self, model: str, ids: list[str], max_age_s: float = MAX_AGE_S
    ) -> tuple[QueueOrder, dict[str, Place]]:
        """The order, and the places of those of the jobs that wait. Raises `StorageUnavailable`."""
        order = await self.order(model, max_age_s)
        if order.is_whole and not order.positions.keys() >= set(ids):
            order = await self.order(model, MIN_AGE_S)  # it may be older than the job
        ranks = await self._ledger.queue_ranks(model, ids)
        return order, {
            id: order.place(id, rank) for id, rank in zip(ids, ranks, strict=True) if rank is not None
        }
