"""What deploy/ has for Prometheus and Grafana: its expressions, and the programs to check them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.settings import ROOT

DEPLOY = ROOT / "deploy"
PROMETHEUS, ALERTS, DASHBOARD = (
    DEPLOY / name for name in ("prometheus.yml", "alerts.yml", "grafana/stoker.json")
)
VARIABLES = {"$__rate_interval": "1m", "$model": ".*"}


def program(name: str) -> str:
    """The path of `prometheus` or `promtool`; skips the test where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed: apt-get install prometheus")
    return found


def alert_rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def dashboard_expressions(path: Path = DASHBOARD) -> Iterator[tuple[str, str]]:
    """The title of a panel and one of its expressions, as Grafana sends it."""
    for panel in json.loads(path.read_text())["panels"]:
        for target in panel.get("targets", ()):
            expression = target["expr"]
            for name, value in VARIABLES.items():
                expression = expression.replace(name, value)
            yield panel["title"], expression


def metric_names(expression: str) -> set[str]:
    """The names of this platform's metrics in an expression."""
    return set(re.findall(r"\b(?:stoker|vllm)_\w+", expression))


def label_names(expression: str) -> set[str]:
    """The labels in the matchers and groupings of an expression."""
    matched = re.findall(r"(\w+)(?:=~|!=|!~|=)\"", expression)
    grouped = re.findall(r"(?:by|without) \(([^)]*)\)", expression)
    return set(matched) | {name.strip() for names in grouped for name in names.split(",")}
