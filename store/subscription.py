"""A connection to Redis that receives what is published on one channel."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from hiredis import pack_command
from redis.exceptions import RedisError, TimeoutError

from config.settings import Settings
from store.async_connection import open_connection

logger = logging.getLogger("scheduler")

PING_S = 2.0
"""The interval between PINGs, which detect a half-open connection."""

SILENCE_S = 5.0
"""A connection on which nothing arrives for this time, no reply to a PING either, is lost."""

RETRY_S = 0.2
"""The pause before a lost connection is opened again."""


class Subscription:
    """Subscribes to a channel, and again after each loss of the connection.

    In callbacks of the event loop it calls `on_subscribed` when messages begin to arrive (those published
    before are lost), and `on_message` with the content of each one.
    """

    def __init__(
        self,
        settings: Settings,
        channel: str,
        on_message: Callable[[bytes], None],
        on_subscribed: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._channel = channel
        self._subscribe = pack_command(("SUBSCRIBE", channel))  # type: ignore[arg-type]  # its stub: 1 item
        self._on_message = on_message
        self._on_subscribed = on_subscribed
        self._has_received = False
        self._is_subscribed = False

    async def run(self) -> None:
        """Receive until cancelled."""
        is_reported = False
        while True:
            try:
                await self._receive()
            except (RedisError, OSError) as error:
                if self._is_subscribed or not is_reported:
                    logger.warning(
                        "the shared store (Redis) is unreachable or refuses a subscription; "
                        "subscribing again: %s",
                        error,
                    )
                is_reported = True
            except Exception:
                logger.exception("the subscription to %s failed; subscribing again", self._channel)
            await asyncio.sleep(RETRY_S)

    async def _receive(self) -> None:
        """Subscribe and receive. Raises the error when the connection is lost or the subscription refused."""
        self._has_received = self._is_subscribed = False
        lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def on_lost(error: Exception) -> None:
            if not lost.done():
                lost.set_exception(error)

        def on_reply(reply: Any) -> None:
            if isinstance(reply, Exception) and not self._is_subscribed:
                on_lost(reply)
            else:
                self._on_reply(reply)

        # RESP2: there a published message is an ordinary reply
        transport = await open_connection(self._settings, on_reply, on_lost, protocol=2)
        try:
            transport.write(self._subscribe)
            await self._watch(transport, lost)
        finally:
            lost.cancel()
            transport.abort()

    async def _watch(self, transport: asyncio.Transport, lost: asyncio.Future[None]) -> None:
        """Send PINGs until the connection is lost. Raises `TimeoutError` when nothing arrives."""
        silent_s = 0.0
        while not (await asyncio.wait([lost], timeout=PING_S))[0]:
            silent_s = 0.0 if self._has_received else silent_s + PING_S
            if silent_s >= SILENCE_S:
                raise TimeoutError("the shared store (Redis) does not answer")
            self._has_received = False
            transport.write(pack_command(("PING",)))
        lost.result()

    def _on_reply(self, reply: Any) -> None:
        self._has_received = True
        try:
            if isinstance(reply, list) and reply[0] == b"message":
                self._on_message(reply[2])
            elif isinstance(reply, list) and reply[0] == b"subscribe":
                self._is_subscribed = True
                self._on_subscribed()
        except Exception:
            logger.exception("a message of %s could not be delivered", self._channel)
