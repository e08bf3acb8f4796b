"""Where and with what it was measured."""

from __future__ import annotations

import datetime
import os
import platform
from importlib.metadata import version

from benchmarks.processes import TICKS_PER_S
from stoker.valkey import find_server

PACKAGES = ("celery", "flask", "flower", "gunicorn", "hiredis", "httpx", "kombu", "orjson", "redis")


def about() -> dict[str, str]:
    """In words, for people who compare."""
    server = find_server()
    versions = [f"{name} {version(name)}" for name in PACKAGES]
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{os.cpu_count()} CPUs ({platform.machine()}), Linux {platform.release()}",
        "load before": load,
        "versions": ", ".join(
            [f"Python {platform.python_version()}", server.label if server else "", *versions]
        ),
        "CPU clock": f"{1000 // TICKS_PER_S} ms a tick",
    }
