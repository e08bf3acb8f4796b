"""The behaviour that is required of every adapter's prefix cache: namespaces are kept apart."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace
from statistics import median

import pytest

from backends.catalogue import BACKENDS
from config.settings import ModelDefinition
from fleet.flush import FlushCount
from generation.generation import Generation
from tests.backends.capabilities import not_applicable
from tests.backends.conftest import Launched, Start, ask
from tests.backends.measurements import ROWS, Row
from tests.support.waiting import scaled, wait_until

SAVED = 5
"""The least factor by which an own prefix reduces the tokens of a prompt that are computed."""

NAMESPACES_UNDER_PRESSURE = 10
ROUNDS = 5


def cached_tokens(launched: Launched, request: Generation) -> int:
    """Return how many tokens of the prompt were cached; of an engine without a cache, 0."""
    finish = launched.answer(request).finish
    assert finish is not None
    assert finish.usage.cached_tokens <= finish.usage.input_tokens
    return finish.usage.cached_tokens


def in_new_namespace(request: Generation) -> Generation:
    """Return the request in a namespace that no request has been in."""
    return replace(request, cache_namespace=secrets.token_hex(16))


class CacheContract:
    """The requirements for the prefix cache. A subclass provides the model and its requests."""

    caches_prompts = True  # whether it has a cache of prefixes, and reports the cached tokens
    owns_cache = True  # whether its engines hold the cache, and a flush can drop all of it
    drops_namespaces = True  # whether a flush can drop some of them and keep others, and counts what it drops
    sizes_entries = False  # whether a flush reports the memory of what it dropped

    def model(self, **fields: object) -> ModelDefinition:
        """See `EngineContract.model`."""
        raise NotImplementedError

    def short(self, **overrides: object) -> Generation:
        """See `EngineContract.short`."""
        raise NotImplementedError

    def long(self, **overrides: object) -> Generation:
        """See `EngineContract.long`."""
        raise NotImplementedError

    def long_prompt(self, **overrides: object) -> Generation:
        """Return a request with a prompt of about two thousand tokens and a short answer."""
        return ask("word " * 2000, **{"temperature": 0.0, "max_tokens": 2, **overrides})

    def test_the_declaration_and_the_engine_agree_on_the_reuse_of_prefixes(self) -> None:
        backend = BACKENDS[self.model().backend]
        if backend.remote:
            not_applicable("the server decides that")
        assert backend.reuses_prefixes(self.model().options) == self.caches_prompts

    def test_a_repeated_prompt_counts_as_cached(self, shared: Launched) -> None:
        request = in_new_namespace(self.short())
        assert cached_tokens(shared, request) == 0
        assert (cached_tokens(shared, request) > 0) == self.caches_prompts

    def test_a_prefix_is_reused_in_its_own_namespace_only(self, shared: Launched) -> None:
        own, other = (in_new_namespace(self.long_prompt()) for _ in range(2))
        first = shared.answer(own).finish
        assert first is not None
        size = first.usage.input_tokens
        counts = [cached_tokens(shared, request) for request in (own, other, other, own)]
        assert first.usage.cached_tokens == counts[1] == 0
        if self.caches_prompts:
            assert size >= 2000
            assert all(SAVED * (size - count) <= size for count in (counts[0], counts[2], counts[3]))
        else:
            assert not any(counts)

    def test_the_mode_none_reads_no_prefix_and_leaves_none(self, shared: Launched) -> None:
        prefix = in_new_namespace(self.long_prompt())
        none = replace(prefix, cache_mode="none")
        assert [cached_tokens(shared, request) for request in (none, none, prefix, none)] == [0] * 4
        assert (cached_tokens(shared, prefix) > 0) == self.caches_prompts

    def test_requests_without_a_namespace_share_nothing(self, shared: Launched) -> None:
        request = self.long_prompt(cache_namespace=None)
        assert not any(cached_tokens(shared, request) for _ in range(shared.engine.slots + 1))

    def test_requests_at_once_share_nothing_with_other_namespaces(self, shared: Launched) -> None:
        requests = [in_new_namespace(self.long_prompt()) for _ in range(2 * shared.engine.slots)]
        running = [shared.begin(request, id=f"apart-{i}") for i, request in enumerate(requests)]
        for answer, thread in running:
            thread.join()
            assert answer.error is None
            assert answer.finish is not None
            assert answer.finish.usage.cached_tokens == 0

    def test_namespaces_beyond_the_slots_change_no_answer(self, shared: Launched) -> None:
        requests = [in_new_namespace(self.short()) for _ in range(NAMESPACES_UNDER_PRESSURE)]
        expected = shared.answer(self.short(cache_mode="none")).text
        for request in requests:
            answer = shared.answer(request)
            assert answer.text == expected
            assert answer.finish is not None
            assert answer.finish.usage.cached_tokens == 0
        for rotation in (requests, requests[::-1], requests[::3]):
            running = [shared.begin(request, id=f"rotated-{i}") for i, request in enumerate(rotation)]
            for answer, thread in running:
                thread.join()
                assert (answer.error, answer.text) == (None, expected)

    # ---- flushes

    def test_a_flush_drops_a_namespace_and_leaves_those_that_are_kept(self, shared: Launched) -> None:
        own, other = (in_new_namespace(self.long_prompt()) for _ in range(2))
        for request in (own, other):
            shared.answer(request)
        count = shared.flush(other)
        assert (cached_tokens(shared, other) > 0) == self.caches_prompts
        if self.drops_namespaces or not self.caches_prompts:
            assert cached_tokens(shared, own) == 0
            self.check_count(count, least=int(self.caches_prompts))
        else:
            assert (count.entries, count.memory_mib) == (None, None)
            assert count.reason

    def test_a_flush_of_everything_leaves_nothing_and_the_next_one_finds_nothing(
        self, shared: Launched
    ) -> None:
        requests = [in_new_namespace(self.long_prompt()) for _ in range(2)]
        for request in requests:
            shared.answer(request)
        self.check_count(shared.flush(), least=2 * int(self.caches_prompts))
        again = shared.flush()
        if self.drops_namespaces:
            assert again.entries == 0
        if self.owns_cache:
            assert [cached_tokens(shared, request) for request in requests] == [0, 0]

    def test_requests_that_run_and_wait_during_a_flush_answer_and_leave_nothing(
        self, shared: Launched
    ) -> None:
        """One request more than there are slots: it waits in the engine or its adapter."""
        request = in_new_namespace(self.flushed())
        expected = shared.answer(request).text
        assert (cached_tokens(shared, request) > 0) == self.caches_prompts
        shared.flush()
        running = [shared.begin(request, id=f"flushed-{i}") for i in range(shared.engine.slots + 1)]
        assert running[0][0].first_delta.wait(scaled(30))
        shared.flush()
        for answer, thread in running:
            thread.join()
            assert (answer.error, answer.text) == (None, expected)
        # an engine that frees its cache as a whole does it when no request runs
        limit_s = 0.0 if self.drops_namespaces else 20.0
        if self.owns_cache:
            wait_until(lambda: cached_tokens(shared, request) == 0, limit_s)

    def flushed(self) -> Generation:
        """Return a request that runs during a flush, with a prompt that can be cached."""
        return self.long(max_tokens=800)

    def check_count(self, count: FlushCount, least: int) -> None:
        """Check that at least so many entries were counted, and that there is a reason for what is not."""
        if self.drops_namespaces or not self.caches_prompts:
            assert count.entries is not None
            assert count.entries >= least
        else:
            assert count.entries is None
        assert (count.memory_mib is not None) == (self.sizes_entries or not self.caches_prompts)
        assert (count.memory_mib or 0) > 0 or not self.sizes_entries
        assert (count.reason is None) == (count.memory_mib is not None)

    @pytest.mark.engines
    def test_the_gain_of_a_cached_prefix_is_measured(self, start: Start) -> None:
        """Measure the time of a prompt with one token: new, again, and in another namespace."""
        if not self.caches_prompts:
            not_applicable("this backend has no cache of prefixes")
        launched = start(self.model(), slots=2)
        launched.answer(self.long_prompt(cache_mode="none"))  # warm up

        def answer_ms(request: Generation) -> float:
            begun = time.monotonic()
            launched.answer(request)
            return (time.monotonic() - begun) * 1000

        rounds = []
        for _ in range(ROUNDS):
            own, other = (in_new_namespace(self.long_prompt(max_tokens=1)) for _ in range(2))
            rounds.append([answer_ms(request) for request in (own, own, other)])
        new, again, foreign = (median(times) for times in zip(*rounds, strict=True))
        ROWS.setdefault(type(self), Row()).prefix = (new, again, foreign)
