"""Fixtures for proposals: a store under the test's prefix."""

from __future__ import annotations

import pytest
import redis

from config.settings import Settings
from governance.proposals.store import ProposalStore

TTL_S = 3600
HISTORY_S = 7200


@pytest.fixture
def store(client: redis.Redis, settings: Settings) -> ProposalStore:
    return ProposalStore(client, settings.redis.prefix, ttl_s=TTL_S, history_s=HISTORY_S)
