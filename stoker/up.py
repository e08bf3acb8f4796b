"""`stoker up`: one command for the whole platform on one machine."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec

from redis import Redis

from config.errors import ConfigError
from config.keys import ensure_keys
from config.settings import ROOT, RedisSettings, Settings
from fleet.fleet import Fleet
from scheduler.redis_connections import command_client
from scheduler.server_check import check_server
from stoker import process_plans as plans
from stoker.client import ApiError, Client
from stoker.data_folder_lock import Busy, Lock
from stoker.gpus import seats
from stoker.initial_loads import Arrivals
from stoker.managed_process import Part, Plan, last_lines
from stoker.ports import free_port
from stoker.run_file import forget_run, write_run
from stoker.supervisor import Asked, PartDied, Supervisor
from stoker.terminal import Screen
from stoker.valkey import HOST, NoServer, find_server, first_port, server_plan
from stoker.welcome import QUESTION, reachable, short, welcome

START_S = 60.0  # a part that has not come up by then never will
ANSWER_S = 120.0
FOREIGN_S = 3.0  # a Redis that is not ours runs already; its ledger may know failures of yesterday


class CannotStart(Exception):
    """Raised when the platform does not come up; the text says why and what to do."""


@dataclass(frozen=True)
class Wishes:
    """What the command line asked for."""

    ask: bool = True
    flower: bool = True
    port: int | None = None


def up(settings: Settings, wishes: Wishes, screen: Screen) -> int:
    """Run the platform until somebody stops it; the exit code. Raises `ConfigError`."""
    os.umask(0o077)  # logs and data are their owner's alone
    try:
        platform = Platform(settings, wishes, screen)
    except (Busy, OSError) as error:
        screen.line(f"stoker cannot start: {error}")
        return 1
    code = 0
    try:
        platform.start()
        platform.supervisor.run()
    except Asked:
        pass
    except PartDied as died:
        code = 1
        for line in last_lines(died.part.plan.log):
            screen.line(f"  | {line}")
        screen.line(f"stoker cannot start: {died}; mend what its log says ({died.part.plan.log})")
    except (CannotStart, NoServer, OSError) as error:
        code = 1
        screen.line(f"stoker cannot start: {error}")
    finally:
        platform.stop()
    return code


class Platform:
    """The parts, in the order in which they come up."""

    def __init__(self, settings: Settings, wishes: Wishes, screen: Screen) -> None:
        """Take the data folder. Raises `Busy`, `OSError` and `ConfigError`."""
        self.settings, self.wishes, self.screen = settings, wishes, screen
        self.lock = Lock(settings.data_dir)
        self.keys = ensure_keys(settings.data_dir)
        forget_run(settings.data_dir)  # of one that was killed
        self.logs = settings.data_dir / "logs"
        self.supervisor = Supervisor(lambda text: screen.line(f"{time.strftime('%H:%M:%S')}  {text}"))
        self.own_redis = "REDIS_URL" not in os.environ and settings.redis.url == RedisSettings().url
        self.environment: dict[str, str] = {
            "STOKER_DATA_DIR": str(settings.data_dir),
            "PYTHONUNBUFFERED": "1",  # a log that lags tells little about a crash
        }

    def start(self) -> None:
        """Start everything, show it, ask one question. Raises what `up` explains."""
        self.screen.line(f"Starting Stoker, with its data in {short(self.settings.data_dir)}")
        self._redis()
        api_url, api = self._api()
        for seat in seats():
            self.supervisor.start(plans.worker_plan(self.settings, seat, self.environment, self.logs))
            self.screen.step("worker", seat.name)
        flower_url, flower = self._flower() if self.wishes.flower else (None, None)
        self._wait_for(api, api_url, "/health")
        run = {"pid": os.getpid(), "url": api_url, "flower": flower_url}
        write_run(self.settings.data_dir, run)
        models = self._models(Client(api_url, self.keys.admin_key, timeout_s=2))
        if self.wishes.ask and models:
            self._ask(api_url, models[0])
        if flower is not None and flower_url is not None:
            self._wait_for(flower, flower_url, "/healthcheck")
        model = models[0] if models else None
        for line in welcome(api_url, flower_url, self.keys, self.logs, model):
            self.screen.line(line)

    def stop(self) -> None:
        """End everything, in order."""
        self.screen.done()
        if any(part.pid for part in self.supervisor.parts):
            self.screen.line("Stopping (Ctrl-C once more kills at once)")
        well = self.supervisor.stop()
        forget_run(self.settings.data_dir)
        self.screen.line("Stopped" if well else "Stopped; some parts had to be killed")

    # ---- the parts

    def _redis(self) -> None:
        url, where = self._embedded() if self.own_redis else (self.settings.redis.url, "that of REDIS_URL")
        # by both names, since the second one would win over the first
        self.environment |= {"REDIS_URL": url, "STOKER_REDIS__URL": url}
        settings = replace(self.settings, redis=replace(self.settings.redis, url=url))
        client = command_client(settings)
        if not self.supervisor.until(lambda: _answers(client.ping), START_S if self.own_redis else FOREIGN_S):
            raise CannotStart(_why(client, settings) or f"Redis ({where}) does not answer; look into its log")
        if (why := _why(client, settings)) is not None:
            raise CannotStart(why)
        if self.own_redis:
            # whatever the former run left in the ledger, none of its workers lives
            Fleet(client, settings).reset_to_configuration()
        client.close()
        self.screen.step("redis", where, self.supervisor.parts[0].life_s if self.own_redis else None)

    def _embedded(self) -> tuple[str, str]:
        server = find_server()
        port = free_port(HOST, first_port())
        password = self.keys.redis_password
        plan = server_plan(server, self.settings.data_dir, port, password, self.lock.fd)
        self.supervisor.start(plan)
        return f"redis://:{password}@{HOST}:{port}/0", f"{HOST}:{port} ({server.label})"

    def _api(self) -> tuple[str, Part]:
        host = self.settings.api.host
        asked = self.settings.api.port if self.wishes.port is None else self.wishes.port
        port = self._port("the API", host, asked)
        self.environment["STOKER_API__PORT"] = str(port)
        plan = plans.api_plan(self.settings, self.environment, self.logs)
        return reachable(host, port), self.supervisor.start(plan)

    def _flower(self) -> tuple[str, Part] | tuple[None, None]:
        if find_spec("flower") is None:
            self.screen.line("  flower   is not installed; tasks are not monitored")
            return None, None
        host = self.settings.flower.host
        port = self._port(
            "Flower", host, self.settings.flower.port, int(self.environment["STOKER_API__PORT"])
        )
        plan = plans.flower_plan(host, port, self.keys.flower_password, self.environment, self.logs)
        return reachable(host, port), self.supervisor.start(plan)

    def _port(self, who: str, host: str, first: int, *taken: int) -> int:
        port = free_port(host, first, taken)
        if first not in (0, port):
            self.screen.line(f"  port {first} is taken: {who} uses {port}")
        return port

    # ---- waiting

    def _wait_for(self, part: Part, url: str, path: str) -> None:
        client = Client(url, None, timeout_s=1)
        if not self.supervisor.until(lambda: _speaks(client, path), START_S):
            raise CannotStart(f"{part.name} does not answer at {url}; its log is {part.plan.log}")
        self.screen.step(part.name, url, part.life_s)

    def _models(self, client: Client) -> list[str]:
        """Wait for the enabled models; those that came."""
        settling_s = 0.0 if self.own_redis else FOREIGN_S
        arrivals = Arrivals(self.settings.models, client, self.screen, settling_s=settling_s)
        self.supervisor.until(arrivals.look, arrivals.patience_s)
        arrivals.give_up()
        return arrivals.loaded

    def _ask(self, url: str, model: str) -> None:
        """Ask in a process of its own, so that this one can be stopped at any time."""
        self.screen.line(f"\nAsking {model}: {QUESTION}")
        asking = Part(
            Plan(
                name="question",
                argv=[sys.executable, "-m", "stoker", "ask", "--model", model, QUESTION],
                environment={**self.environment, "STOKER_URL": url, "STOKER_API_KEY": self.keys.api_key},
                cwd=ROOT,
            )
        )
        asking.start()
        try:
            self.supervisor.until(lambda: asking.end() is not None, ANSWER_S)
        finally:
            asking.kill()


def _answers(call: Callable[[], object]) -> bool:
    try:
        call()
    except Exception:
        return False  # whatever it is: it does not answer yet
    return True


def _why(client: Redis, settings: Settings) -> str | None:
    """Why this Redis is of no use, if it is not."""
    try:
        check_server(client, settings)
    except ConfigError as error:
        return str(error)
    return None


def _speaks(client: Client, path: str) -> bool:
    """Whether anything answers; a refusal is an answer too."""
    try:
        client.get(path)
    except ApiError as error:
        return error.status is not None
    return True
