"""The platform that hostile clients attack: short time limits, many slots, and well-behaved clients."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from tests.support.bystanders import Bystanders, bystanders
from tests.support.hostile_clients import Crowd, crowd
from tests.support.platform import Platform, running_platform
from tests.support.raw_http import Address, Answer, RawClient, exchange, request

HEAD_S, BODY_S, WRITE_S = 1.0, 1.5, 2.0
MAX_BODY = 1024 * 1024
PER_ADDRESS = 300
SLOTS = 1200

SPARE = 48
"""Files that the API may open meanwhile: connections of the well-behaved clients, and those to Redis."""

MODELS = {
    "stoker-demo": {"enabled": False},
    "narrow": {"backend": "stub", "enabled": True, "target_inflight": 1},
    "quick": {"backend": "stub", "enabled": True, "target_inflight": 16},
    "wide": {"backend": "stub", "enabled": True, "target_inflight": SLOTS, "stub_context": 1_000_000},
}
API = {
    "head_timeout_s": HEAD_S,
    "body_timeout_s": BODY_S,
    "write_timeout_s": WRITE_S,
    "max_body_bytes": MAX_BODY,
    "max_connections": 4000,
    "max_connections_per_address": PER_ADDRESS,
    "max_streams": 2000,
    "max_pending_body_bytes": 64 * MAX_BODY,
}


@dataclass
class Target:
    """The API of a running platform, as its clients see it."""

    platform: Platform
    address: Address
    bystanders: Bystanders

    @property
    def key(self) -> str:
        return str(self.platform.keys["api_key"])

    def post(self, body: object, path: str = "/v1/responses", **headers: str | None) -> bytes:
        """The bytes of a request with a valid key and a JSON body."""
        return request(
            "POST",
            path,
            json.dumps(body).encode(),
            **{"Authorization": f"Bearer {self.key}", "Content_Type": "application/json", **headers},
        )

    def get(self, path: str, **headers: str | None) -> bytes:
        """The bytes of a request with a valid key."""
        return request("GET", path, **{"Authorization": f"Bearer {self.key}", **headers})

    def exchange(self, data: bytes, **options: Any) -> Answer:
        """Send these bytes on a connection of their own, and return the first answer."""
        return exchange(self.address, data, **options)

    def client(self, **options: Any) -> RawClient:
        """A new connection."""
        return RawClient(self.address, **options)

    def log(self) -> str:
        """All that the API has logged."""
        return (self.platform.folder / "data" / "logs" / "api.log").read_text()

    def _processes(self) -> list[psutil.Process]:
        return [psutil.Process(pid) for pid in self.platform.pids("stoker api")]

    def memory_mib(self) -> float:
        """The resident memory of the API's processes."""
        return sum(process.memory_info().rss for process in self._processes()) / 2**20

    def files(self) -> int:
        """How many files and sockets the API's processes have open."""
        return sum(process.num_fds() for process in self._processes())

    def slots_taken(self, model: str) -> int:
        """How many jobs of the model have a slot."""
        return int(self.platform.model(model)["inflight_requests"])


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    folder = tmp_path_factory.mktemp("hostile")
    local = {
        "models": MODELS,
        "api": API,
        "queue": {"max_depth": 400, "max_depth_per_tenant": 400},
        "tenancy": {"max_readers": 1000},  # the clients attack the server, not the limit of their tenant
    }
    with running_platform(folder / "up", local, "--port", "0", "--no-flower") as platform:
        for name in ("narrow", "quick", "wide"):
            platform.wait_state(name, "loaded", 60)
        url = urlsplit(platform.url)
        address = (str(url.hostname), int(url.port or 80))
        key = platform.keys["api_key"]
        with bystanders(address, key, "quick", folder / "samples") as measured:
            yield Target(platform, address, measured)


@pytest.fixture(autouse=True)
def _nothing_unexpected(target: Target) -> Iterator[None]:
    """Whatever a client sends, the API logs no traceback."""
    before = len(target.log())
    yield
    assert "Traceback" not in target.log()[before:]


@pytest.fixture
def attackers(target: Target) -> Iterator[Crowd]:
    """Hostile clients at addresses of their own. The test ends when the API has closed their connections."""
    before = target.files()
    with crowd(target.address) as clients:
        yield clients
    target.platform.wait_for(lambda: target.files() <= before + SPARE, 5, "end of all hostile connections")
