"""Work for a client that ends when the client is gone."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from api.http.errors import ApiError
from api.http.server.client_connection import ClientConnection

T = TypeVar("T")


async def while_connected(connection: ClientConnection, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work, which a disconnect cancels. Raises `ApiError` (cancelled) then."""
    task = asyncio.ensure_future(work)
    connection.on_disconnect(_canceller(task))
    try:
        return await task
    except asyncio.CancelledError:
        if (own := asyncio.current_task()) is not None and own.cancelling():
            raise
        raise ApiError("the client has disconnected", code="cancelled") from None
    finally:
        del task  # its error's traceback has this frame: a large request would be kept until a collection


def _canceller(task: asyncio.Future[Any]) -> Callable[[], None]:
    # the connection keeps it until the answer is complete, and must not keep the result for as long
    found = weakref.ref(task)

    def cancel() -> None:
        if (task := found()) is not None:
            task.cancel()

    return cancel
