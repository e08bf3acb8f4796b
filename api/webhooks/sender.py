"""Follows background responses, and sends the events of their ends (docs/decisions/0023-webhooks.md).

The events of alerts are in the same lists; `api/operations/alerts/store.py` puts them there.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import ssl
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace

from api.http.polling import sleep_until_tick
from api.webhooks.addresses import resolve_public
from api.webhooks.signing import event_body, event_id, signed_headers
from api.webhooks.store import Entry, WebhookStore, list_of_target, list_of_tenant
from api.webhooks.target_states import MAX_PROBLEM
from api.webhooks.targets import Target
from config.settings import WebhookSettings
from config.version import version
from http_client.client import HttpClient, HttpError
from scheduler.job import Job
from scheduler.ledger import AsyncLedger
from store.errors import StokerError

logger = logging.getLogger("api")

POLL_S = 0.5
PAGE = 100
"""Entries of a tenant in one turn."""

MAX_OF_TARGET, MAX_SENDING = 4, 64
TIMEOUT_S = 10.0
"""Of one attempt, with name resolution and connect: receivers answer first and work afterwards."""

MAX_ATTEMPTS = 8
"""With `DELAYS_S` the last attempt comes 2.7 hours after the first: a receiver may be down for that long."""

ADMISSION_S = 60.0
"""How long a response that was entered may take to be admitted."""

DELAYS_S = (5, 30, 120, 600, 1800, 3600)
SPREAD = 0.2
GONE = 410
TEST_EVENT = "webhook.test"
USER_AGENT = f"Stoker/{version()}"


class WebhookSender:
    """The webhooks of one API process. For the event loop's thread only."""

    def __init__(  # noqa: PLR0913 - the parts that a test replaces have names
        self,
        settings: WebhookSettings,
        targets: Mapping[str, Target],
        store: WebhookStore,
        ledger: AsyncLedger,
        process: str,
        *,
        tls: ssl.SSLContext | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._settings = settings
        self._targets = targets
        self._store = store
        self._ledger = ledger
        self._process = process
        self._tls = tls
        self._clock = store.now if clock is None else clock
        self._tenants = tuple(
            dict.fromkeys(target.tenant for target in targets.values() if target.tenant is not None)
        )
        self._sending: dict[tuple[str, str], asyncio.Task[None]] = {}
        """The deliveries under way, by target and by what they are about: a response or an alert."""
        self._tests: dict[str, asyncio.Task[str | None]] = {}
        """The test events under way, by target."""

    def wants(self, tenant: str) -> bool:
        """Whether the ends of this tenant's background responses are sent."""
        return tenant in self._tenants

    async def enter(self, job: Job) -> None:
        """Enter a background response that is about to be admitted. Raises `StokerError`."""
        targets = (list_of_target(target.name) for target in self._targets_of(job.tenant))
        await self._store.add(list_of_tenant(job.tenant), Entry(job.id, self._clock()), targets)

    async def run(self) -> None:
        """Send until cancelled. Without a target it returns at once."""
        if not self._targets:
            return
        try:
            while True:
                try:
                    if await self._store.hold(self._process):
                        await self.turn()
                except StokerError:
                    logger.debug("webhooks are waiting for Redis", exc_info=True)
                except Exception:
                    logger.exception("webhooks cannot be sent")
                await sleep_until_tick(POLL_S)
        finally:
            await self.close()

    async def turn(self) -> None:
        """Look once at what is due, and begin the deliveries. Raises `StorageUnavailable`."""
        now = self._clock()
        for tenant in self._tenants:
            entries = await self._store.due(list_of_tenant(tenant), now, PAGE)
            await asyncio.gather(*(self._look(tenant, entry, now) for entry in entries))
        for target in self._targets.values():
            await self._begin(target, now)

    async def send_test(self, target: Target) -> str | None:
        """Send a test event, once. Returns why it did not arrive, None if it did. Raises `StokerError`.

        A call while one is under way waits for that one.
        """
        if target.name not in self._tests:
            task = self._tests[target.name] = asyncio.ensure_future(self._send_test(target))
            task.add_done_callback(lambda _: self._tests.pop(target.name))
        return await asyncio.shield(self._tests[target.name])

    def target(self, name: str) -> Target | None:
        """The target of this name."""
        return self._targets.get(name)

    async def finished(self) -> None:
        """Wait for the deliveries under way."""
        await asyncio.gather(*self._sending.values())

    async def close(self) -> None:
        """End the deliveries under way, which are made again by the next sender."""
        tasks = [*self._sending.values(), *self._tests.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _targets_of(self, tenant: str) -> list[Target]:
        return [target for target in self._targets.values() if target.tenant == tenant]

    async def _look(self, tenant: str, entry: Entry, now: float) -> None:
        """Make deliveries of a response that has ended; look at any other one later."""
        row = await self._ledger.lookup(entry.response, tenant)
        age, name = now - entry.at, list_of_tenant(tenant)
        if row is None and age > ADMISSION_S:
            await self._store.remove(name, entry)
        elif row is None or not row.status.is_terminal:
            await self._store.postpone(name, entry, now + min(10.0, max(POLL_S, age / 20)))
        else:
            event = f"response.{row.status}"
            delivery = replace(entry, event=event, ended_at=int(now))
            targets = [target.name for target in self._targets_of(tenant) if event in target.events]
            await self._store.deliver(name, entry, delivery, targets)

    async def _begin(self, target: Target, now: float) -> None:
        """Begin deliveries to a target, as many as it may have under way."""
        under_way = sum(name == target.name for name, _ in self._sending)
        if under_way >= MAX_OF_TARGET or len(self._sending) >= MAX_SENDING:
            return
        before = set(self._sending)  # one that ends during the read may still be in what is read
        for entry in await self._store.due(list_of_target(target.name), now, MAX_OF_TARGET):
            key = target.name, entry.subject
            if key not in before and key not in self._sending and under_way < MAX_OF_TARGET:
                under_way += 1
                self._sending[key] = asyncio.ensure_future(self._deliver(target, entry))

    async def _deliver(self, target: Target, entry: Entry) -> None:
        try:
            problem, is_final = await self._post(target, entry)
            tried, now = replace(entry, attempts=entry.attempts + 1), self._clock()
            if problem is None:
                await self._note_success(target, entry, now)
            elif is_final or tried.attempts >= MAX_ATTEMPTS:
                await self._note_failure(target, entry, now, problem)
                logger.warning(
                    "the event of %s could not be sent to the webhook target %s: %s, after %d attempts",
                    entry.response,
                    target.name,
                    problem,
                    tried.attempts,
                )
            else:
                delay = DELAYS_S[min(entry.attempts, len(DELAYS_S) - 1)]
                spread = 1 + SPREAD * (2 * random.random() - 1)  # noqa: S311 - no secret
                await self._note_failure(target, tried, now, problem, now + delay * spread)
        except StokerError:
            logger.debug("the outcome of a webhook is not stored: it is sent again", exc_info=True)
        finally:
            del self._sending[target.name, entry.subject]

    async def _send_test(self, target: Target) -> str | None:
        now = self._clock()
        entry = Entry(f"test_{secrets.token_hex(16)}", now, TEST_EVENT, int(now))
        problem, _ = await self._post(target, entry)
        if problem is None:
            await self._note_success(target, None, now)
        else:
            await self._note_failure(target, None, now, problem)
        return problem

    async def _note_success(self, target: Target, entry: Entry | None, now: float) -> None:
        if await self._store.delivered(target.name, entry, now):
            logger.info("the webhook target %s receives events again", target.name)

    async def _note_failure(
        self, target: Target, entry: Entry | None, now: float, problem: str, until: float | None = None
    ) -> None:
        """Store a failure, and log the first one after a success: the others are counted."""
        if await self._store.failed(target.name, entry, now, problem, until):
            logger.warning(
                "the webhook target %s does not receive: %s; its events wait and are sent again",
                target.name,
                problem,
            )

    async def _post(self, target: Target, entry: Entry) -> tuple[str | None, bool]:
        """Send an event once. Returns why it failed, if it did, and whether it is of no use to try again."""
        body = event_body(entry.response, entry.event, entry.ended_at, entry.alert)
        headers = {
            "connection": "close",
            "user-agent": USER_AGENT,
            **signed_headers(event_id(entry.response), body, target.keys, int(self._clock())),
        }
        try:
            async with asyncio.timeout(TIMEOUT_S):
                with closing(self._new_client(target)) as client:
                    async with client.request("POST", "", body, headers=headers) as answer:
                        status = answer.status
        except TimeoutError:
            return f"TimeoutError: no answer within {TIMEOUT_S:g} s", False
        except (HttpError, ValueError) as error:
            return _in_words(error), False
        if 200 <= status < 300:
            return None, False
        note = ", and redirects are not followed" if 300 <= status < 400 else ""
        return f"it answered {status}{note}", status == GONE

    def _new_client(self, target: Target) -> HttpClient:
        """A client for one attempt, so that the addresses are resolved and checked again at each."""
        is_secure = target.url.startswith("https:")
        if is_secure and self._tls is None:
            self._tls = ssl.create_default_context()
        return HttpClient(
            target.url,
            connect_timeout_s=TIMEOUT_S,
            tls=self._tls if is_secure else None,
            resolve=None if self._settings.allow_private else resolve_public,
        )


def _in_words(error: Exception) -> str:
    """Why an attempt failed: the error of the lowest layer. None of these repeats a path."""
    cause = error.cause if isinstance(error, HttpError) else error
    text = cause.strerror if isinstance(cause, OSError) else None
    return f"{type(cause).__name__}: {text or error}"[:MAX_PROBLEM]
