"""A process that is killed between the check of an opToken and the begin of its operation, or right after it.

Real processes: an API that runs behind a proxy, and Redis. Whichever dies, the token begins one operation.
"""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest
import redis

import fleet.fleet
from config.load import load_settings
from config.settings import ROOT
from tests.conftest import ValkeyServer, free_port
from tests.support.gateway import Gateway
from tests.support.redis_proxy import RedisProxy
from tests.support.served_api import start
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.waiting import scaled, wait_until, wait_until_it_answers

BEGIN_LOAD = Path(fleet.fleet.__file__).parent / "lua" / "begin_load.lua"
CALLERS = 8

pytestmark = [pytest.mark.timeout(120), pytest.mark.hostile]


class Case:
    """API processes of one platform; the first reaches Redis through a proxy."""

    def __init__(self, server: ValkeyServer, folder: Path, gateway: Gateway) -> None:
        self.server, self.folder = server, folder
        written = {
            "redis": {"prefix": "kills"},
            "lease": {"lease_ms": 600_000},
            "governance": {"max_attempts_per_minute": 10_000},
            "models": {"alpha": {"backend": "stub"}},
        }
        (folder / "settings.json").write_text(json.dumps(written))
        (folder / "local.json").write_text("{}")
        self.environment = {
            "STOKER_SETTINGS": str(folder / "settings.json"),
            "STOKER_LOCAL": str(folder / "local.json"),
            "STOKER_DATA_DIR": str(folder),
            "VERIFIED_OP_TOKEN_KEY_PATH": str(gateway.path),
            "REDIS_URL": server.url,
        }
        self.client = redis.Redis.from_url(server.url)
        self.platform = SimulatedPlatform(self.client, load_settings(ROOT, self.environment))
        self.platform.register()
        self.platform.fleet.scripts.load()
        self.proxy = RedisProxy(server.port, BEGIN_LOAD)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start_apis(self) -> tuple[str, str]:
        """Start two API processes, the first behind the proxy; returns their addresses."""
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(self._start_api, (self.proxy.url, self.server.url))
        return first, second

    def _start_api(self, redis_url: str) -> str:
        port = free_port()
        log = self.folder / f"api-{port}.log"
        local = self.folder / f"local-{port}.json"
        local.write_text(json.dumps({"api": {"port": port}}))
        environment = {**self.environment, "REDIS_URL": redis_url, "STOKER_LOCAL": str(local)}
        process = start(environment, log)
        self.processes[redis_url] = process
        url = f"http://127.0.0.1:{port}"
        wait_until_it_answers(f"{url}/health", process, log.read_text)
        return url

    def kill_api(self) -> None:
        """Kill the first API process."""
        self.processes[self.proxy.url].kill()
        self.processes[self.proxy.url].wait()

    def restart_redis(self) -> None:
        """Kill Redis and start it again; what it had acknowledged is in its log."""
        self.server.kill()
        self.server.start()

    def reaches_redis(self) -> bool:
        """Whether Redis answers."""
        try:
            with redis.Redis.from_url(self.server.url) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False

    def operations(self) -> list[str]:
        """The ids of all operations, by a connection that Redis' end has not broken."""
        with redis.Redis.from_url(self.server.url) as client:
            keys = list(client.scan_iter(f"{self.platform.prefix}operation:*", count=1000))
        return [key.decode().rpartition(":")[2] for key in keys]

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.proxy.close()
        self.client.close()


@pytest.fixture
def case(own_server: ValkeyServer, tmp_path: Path, gateway: Gateway) -> Iterator[Case]:
    case = Case(own_server, tmp_path, gateway)
    yield case
    case.close()


def load(url: str, body: dict[str, Any]) -> int:
    """The status of a load; 0 if the connection broke."""
    request = urllib.request.Request(
        f"{url}/v1/models/load", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=scaled(30)) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code
    except (OSError, HTTPException):
        return 0


KILLS: dict[str, Callable[[Case], None]] = {"the API": Case.kill_api, "Redis": Case.restart_redis}


@pytest.mark.rule("runner/op-token-once")
@pytest.mark.parametrize("killed", KILLS)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_token_begins_one_operation_although_a_process_is_killed(
    case: Case, gateway: Gateway, moment: str, killed: str
) -> None:
    first, second = case.start_apis()
    body = gateway.load("alpha")
    setattr(case.proxy, moment, lambda: KILLS[killed](case))
    answer = load(first, body)
    assert case.proxy.passed.wait(scaled(30))
    case.platform.fleet.scripts.load()
    begun = len(case.operations())
    # what the caller was not answered, it asks again, of any process
    answers = [answer, *(load(second, body) for _ in range(3))]
    assert len(case.operations()) == 1
    assert case.platform.model("alpha") == "loading"
    accepted = Counter(answers)[202]
    if begun and answer != 202:  # it began, and the caller was never answered
        assert (accepted, answers[1:]) == (0, [403] * 3)
    else:
        assert accepted == 1
        assert answers[answers.index(202) + 1 :] == [403] * (3 - answers.index(202))
    assert begun == (moment == "after" or answer == 202)


@pytest.mark.rule("runner/op-token-once")
@pytest.mark.parametrize("killed", KILLS)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_token_of_many_callers_begins_one_operation_although_a_process_is_killed(
    case: Case, gateway: Gateway, moment: str, killed: str
) -> None:
    first, second = case.start_apis()
    body = gateway.load("alpha")
    setattr(case.proxy, moment, lambda: KILLS[killed](case))
    with ThreadPoolExecutor(CALLERS) as pool:
        urls = [first if at % 2 else second for at in range(CALLERS)]
        answers = list(pool.map(lambda url: load(url, body), urls))
    wait_until(case.reaches_redis, 30)  # a caller may be answered while Redis starts
    answers += [load(second, body) for _ in range(3)]
    assert len(case.operations()) == 1
    assert Counter(answers)[202] <= 1
    assert set(answers) <= {0, 202, 403, 503}
