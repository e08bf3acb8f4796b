"""`stoker up`: one command for the whole platform on one machine."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote

from redis import Redis

from config.errors import ConfigError
from config.generated_keys import ensure_keys
from config.ports import free_port
from config.settings import ROOT, RedisSettings, Settings
from fleet.fleet import Fleet
from fleet.models_file import ModelsFile
from stoker import process_plans as plans
from stoker.append_only_files import FOLDER as DATA_FILES
from stoker.append_only_files import AppendOnlyFiles
from stoker.client import ApiClient, ApiClientError
from stoker.data_folder import DataFolderInUse, DataFolderLock, DataFolderUnusable, remove_run, write_run
from stoker.initial_loads import InitialLoads
from stoker.managed_process import ManagedProcess, ProcessPlan, last_lines
from stoker.supervisor import ProcessDied, StopRequested, Supervisor
from stoker.terminal import TerminalOutput
from stoker.ui_command import sign_in_address
from stoker.valkey import (
    HOST,
    ServerNotFound,
    find_server,
    machine_memory_bytes,
    max_memory_bytes,
    response_bounds,
    server_plan,
)
from stoker.welcome import LOGS, QUESTION, Addresses, model_to_ask, reachable, short_path, welcome
from store.redis_connections import command_client
from store.server_check import check_server
from telemetry.logging import write_refusal

START_S = 60.0  # a process that does not answer in this time never will
ANSWER_S = 120.0
EXTERNAL_REDIS_S = 3.0  # for an external Redis: it runs already, and its ledger may hold old failures


class StartError(Exception):
    """Raised when the platform does not start; the text has the reason and what to do."""


@dataclass(frozen=True)
class UpOptions:
    """The options of the command line."""

    ask: bool = True
    flower: bool = True
    port: int | None = None


def up(settings: Settings, options: UpOptions, screen: TerminalOutput) -> int:
    """Run the platform until it is stopped. Returns the exit code. Raises `ConfigError`."""
    os.umask(0o077)  # logs and data are readable by their owner only
    try:
        platform = LocalPlatform(settings, options, screen)
    except (DataFolderInUse, DataFolderUnusable, OSError) as error:
        _write_refusal(settings, screen, str(error))
        return 1
    code = 0
    try:
        platform.start()
        platform.supervisor.run()
    except StopRequested:
        pass
    except ProcessDied as died:
        code = 1
        log = died.process.plan.log
        reason = f"{died}; see its log ({log}){_way_out(died.process)}"
        _write_refusal(settings, screen, reason, last_lines(log))
    except (StartError, ServerNotFound, OSError) as error:
        code = 1
        _write_refusal(settings, screen, str(error))
    finally:
        platform.stop()
    return code


def _write_refusal(
    settings: Settings, screen: TerminalOutput, reason: str, lines: Iterable[str] = ()
) -> None:
    """Write why the platform does not start: a record of the log, or lines after those of a process's log."""
    screen.done()
    if settings.log_format == "json":
        write_refusal([f"stoker cannot start: {reason}"], "json")
        return
    for line in lines:
        screen.line(f"  | {line}")
    screen.line(f"stoker cannot start: {reason}")


class LocalPlatform:
    """All processes of the platform, started in order."""

    def __init__(self, settings: Settings, options: UpOptions, screen: TerminalOutput) -> None:
        """Lock the data folder.

        Raises `DataFolderInUse`, `DataFolderUnusable`, `OSError` and `ConfigError`.
        """
        self.settings, self.options, self.screen = settings, options, screen
        self.lock = DataFolderLock(settings.data_dir)
        self.keys = ensure_keys(settings.data_dir)
        remove_run(settings.data_dir)  # of a platform that was killed
        self.logs = settings.data_dir / LOGS
        self.supervisor = Supervisor(lambda text: screen.line(f"{time.strftime('%H:%M:%S')}  {text}"))
        self.own_redis = "REDIS_URL" not in os.environ and settings.redis.url == RedisSettings().url
        self.environment: dict[str, str] = {
            "STOKER_DATA_DIR": str(settings.data_dir),
            "PYTHONUNBUFFERED": "1",  # so that the log of a crashed process is complete
        }

    def start(self) -> None:
        """Start all processes, show them, and ask one question. Raises the errors that `up` handles."""
        self.screen.line(f"Starting Stoker, with its data in {short_path(self.settings.data_dir)}")
        self._start_redis()
        api_url, metrics_url = self._choose_api_ports()
        flower_url, flower = self._start_flower() if self.options.flower else (None, None)
        api = self.supervisor.start(plans.api_plan(self.settings, self.environment, self.logs))
        if (problem := plans.unknown_gpu()) is not None:
            self.screen.line(f"  {problem}")
        workers = {
            device.name: self.supervisor.start(
                plans.worker_plan(self.settings, device, self.environment, self.logs)
            )
            for device in plans.worker_devices()
        }
        self._wait_for(api, api_url, "/health")
        urls = Addresses(api_url, flower_url, metrics_url)
        run = {"pid": os.getpid(), "url": urls.api, "flower": urls.flower, "metrics": urls.metrics}
        write_run(self.settings.data_dir, run)
        client = ApiClient(api_url, self.keys.admin_key, timeout_s=2)
        self._wait_for_workers(client, workers)
        models = self._wait_for_models(client)
        model = model_to_ask(models, self.settings.models)
        if self.options.ask and model is not None:
            self._ask_question(api_url, model)
        if flower is not None and flower_url is not None and not self._wait_for_flower(flower, flower_url):
            urls = replace(urls, flower=None)
        urls = replace(urls, ui=self._ui_address(api_url))
        keys = self.keys if self.screen.is_terminal else None  # what is no terminal may be stored by others
        for line in welcome(urls, keys, self.settings.data_dir, model):
            self.screen.line(line)

    def stop(self) -> None:
        """Stop all processes, in order."""
        self.screen.done()
        if any(process.pid for process in self.supervisor.processes):
            self.screen.line("Stopping (press Ctrl-C again to kill at once)")
        all_ended = self.supervisor.stop()
        remove_run(self.settings.data_dir)
        self.screen.line("Stopped" if all_ended else "Stopped; some processes had to be killed")

    # ---- processes

    def _start_redis(self) -> None:
        """Start the embedded Redis, or take the configured one, and wait until it answers."""
        if self.own_redis:
            url, location = self._start_embedded_redis()
            timeout_s = START_S
        else:
            url, location = self.settings.redis.url, "that of REDIS_URL"
            timeout_s = EXTERNAL_REDIS_S
        # both variables, because the second one overrides the first
        self.environment |= {"REDIS_URL": url, "STOKER_REDIS__URL": url}
        settings = replace(self.settings, redis=replace(self.settings.redis, url=url))
        client = command_client(settings)
        if not self.supervisor.wait_until(lambda: _succeeds(client.ping), timeout_s):
            raise StartError(
                _server_problem(client, settings) or f"Redis ({location}) does not answer; see its log"
            )
        if (problem := _server_problem(client, settings)) is not None:
            raise StartError(problem)
        if self.own_redis:
            # the ledger may hold replicas of an earlier run, whose workers have all ended
            fleet = Fleet(client, settings)
            fleet.reset_to_configuration()
            models = ModelsFile(settings.data_dir, fleet.scripts)
            models.sync()
            if models.problem is not None:
                self.screen.line(f"  {models.problem}")
        client.close()
        self.screen.step("redis", location, self.supervisor.processes[0].uptime_s if self.own_redis else None)

    def _start_embedded_redis(self) -> tuple[str, str]:
        """Return the URL of the started server, and its address and version in words."""
        server = find_server()
        directory = self.settings.data_dir / "redis"
        for change in AppendOnlyFiles(directory, server.program).repair_manifest():
            self.screen.line(f"  {change}")
        port = free_port(HOST, 0)
        password = self.keys.redis_password
        plan = server_plan(server, self.settings.data_dir, port, password, self.lock.fd)
        self.supervisor.start(plan)
        max_memory = max_memory_bytes(machine_memory_bytes())
        self.environment |= response_bounds(self.settings.responses, max_memory)
        return f"redis://:{password}@{HOST}:{port}/0", f"{HOST}:{port} ({server.label})"

    def _choose_api_ports(self) -> tuple[str, str | None]:
        """Return the addresses of the API and of the further port for metrics, if there is one."""
        host = self.settings.api.host
        configured = self.settings.api.port if self.options.port is None else self.options.port
        port = self._choose_port("the API", host, configured)
        self.environment["STOKER_API__PORT"] = str(port)
        metrics, metrics_url = self.settings.metrics, None
        if metrics.enabled and metrics.port is not None:
            metrics_port = self._choose_port("the port for metrics", metrics.host, metrics.port, port)
            self.environment["STOKER_METRICS__PORT"] = str(metrics_port)
            metrics_url = f"{reachable(metrics.host, metrics_port)}/metrics"
        return reachable(host, port), metrics_url

    def _start_flower(self) -> tuple[str, ManagedProcess] | tuple[None, None]:
        """Return its address, which the API gets as well, and the process; None if it cannot be started."""
        if find_spec("flower") is None:
            self.screen.line("  flower   is not installed; tasks are not monitored")
            return None, None
        host = self.settings.flower.host
        # with any free port for the API, too: platforms that start at once would find the same one free
        first = 0 if self.options.port == 0 else self.settings.flower.port
        try:
            port = self._choose_port("Flower", host, first, int(self.environment["STOKER_API__PORT"]))
        except OSError as error:
            self.screen.line(f"  flower   does not run; tasks are not monitored: {error}")
            return None, None
        if self.settings.flower.url is None:
            self.environment["STOKER_FLOWER__URL"] = reachable(host, port)
        plan = plans.flower_plan(self.settings, port, self.keys.flower_password, self.environment, self.logs)
        return reachable(host, port), self.supervisor.start(plan)

    def _choose_port(self, server: str, host: str, first: int, *taken: int) -> int:
        """Return the first free port from `first` on; shows a line if that is another one."""
        port = free_port(host, first, taken)
        if first not in (0, port):
            self.screen.line(f"  port {first} is taken: {server} uses {port}")
        return port

    # ---- waiting

    def _wait_for(self, process: ManagedProcess, url: str, path: str) -> None:
        client = ApiClient(url, None, timeout_s=1)
        if not self.supervisor.wait_until(lambda: _responds(client, path), START_S):
            raise StartError(f"{process.name} does not answer at {url}; its log is {process.plan.log}")
        self.screen.step(process.name, url, process.uptime_s)

    def _wait_for_flower(self, process: ManagedProcess, url: str) -> bool:
        """Wait until the task monitor responds, or has ended: a monitor does not stop what it monitors."""
        client = ApiClient(url, None, timeout_s=1)
        self.supervisor.wait_until(
            lambda: process.restart_at is not None or _responds(client, "/healthcheck"), START_S
        )
        if process.pid is not None and _responds(client, "/healthcheck"):
            self.screen.step(process.name, url, process.uptime_s)
            return True
        self.screen.line(f"  flower   does not run; tasks are not monitored; its log is {process.plan.log}")
        return False

    def _wait_for_workers(self, client: ApiClient, workers: Mapping[str, ManagedProcess]) -> None:
        """Wait until each worker has registered: before, a load is refused with `no_worker`.

        The start goes on without a worker that has not: the supervisor restarts it if it has ended.
        """
        for name, process in workers.items():
            if self.supervisor.wait_until(partial(_has_registered, client, name, process), START_S):
                self.screen.step("worker", name, process.uptime_s)
            else:
                self.screen.line(f"  worker   {name} has not registered yet; its log is {process.plan.log}")

    def _wait_for_models(self, client: ApiClient) -> list[str]:
        """Wait for the enabled models. Returns those that are loaded."""
        ignore_failures_s = 0.0 if self.own_redis else EXTERNAL_REDIS_S
        initial_loads = InitialLoads(
            self.settings.models, client, self.screen, ignore_failures_s=ignore_failures_s
        )
        self.supervisor.wait_until(initial_loads.poll, initial_loads.timeout_s)
        initial_loads.report_unfinished()
        return initial_loads.loaded

    def _ui_address(self, url: str) -> str | None:
        """The address of the UI, on a terminal one that opens it signed in, once; None without the UI."""
        if not self.settings.ui.enabled:
            return None
        if not self.screen.is_terminal:
            return f"{url}/ui/"
        try:
            return sign_in_address(ApiClient(url, self.keys.admin_key, timeout_s=5))[0]
        except ApiClientError:
            return f"{url}/ui/"  # another admin key is configured: its holder signs in with that

    def _ask_question(self, url: str, model: str) -> None:
        """Ask in a separate process, so that this one can be stopped at any time."""
        self.screen.line(f"\nAsking {model}: {QUESTION}")
        asking = ManagedProcess(
            ProcessPlan(
                name="question",
                argv=[sys.executable, "-m", "stoker", "ask", "--model", model, QUESTION],
                environment={**self.environment, "STOKER_URL": url, "STOKER_API_KEY": self.keys.api_key},
                cwd=ROOT,
            )
        )
        asking.start()
        try:
            self.supervisor.wait_until(lambda: asking.poll() is not None, ANSWER_S)
        finally:
            asking.kill()


def _way_out(process: ManagedProcess) -> str:
    """What else can be done about a Redis whose data cannot be read; "" for every other process."""
    data = process.plan.cwd / DATA_FILES if process.plan.cwd is not None else None
    if process.name != "redis" or data is None or not data.exists():
        return ""
    return f". To start without its data: mv {shlex.quote(str(data))} {shlex.quote(f'{data}.kept')}"


def _succeeds(call: Callable[[], object]) -> bool:
    try:
        call()
    except Exception:
        return False  # any error: it does not answer yet
    return True


def _has_registered(client: ApiClient, name: str, process: ManagedProcess) -> bool:
    """Whether the worker of this name is this process: an earlier one may have left its row."""
    try:
        row: dict[str, Any] = client.get(f"/v1/admin/workers/{quote(name, safe='')}")
    except ApiClientError:
        return False
    return row.get("pid") is not None and row["pid"] == process.pid


def _server_problem(client: Redis, settings: Settings) -> str | None:
    """Return why this Redis cannot be used; None if it can."""
    try:
        check_server(client, settings)
    except ConfigError as error:
        return str(error)
    return None


def _responds(client: ApiClient, path: str) -> bool:
    """Whether the server responds; an error status is a response too."""
    try:
        client.get(path)
    except ApiClientError as error:
        return error.status is not None
    return True
