"""GET /v1/admin/usage, and `stoker usage` with it, on a real server."""

from __future__ import annotations

import csv
import io
import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import redis
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.serving import make_server

from api.access.usage_schema import UsageReport
from config.settings import Settings
from scheduler.usage import EPOCH
from stoker.cli import cli
from tests.api.conftest import ADMIN_KEY, KEY
from tests.conftest import ValkeyServer
from tests.support.wsgi_answers import create_app

Fill = Callable[[int, dict[str, str]], None]
TODAY = datetime.now(UTC).date()


@pytest.fixture
def fill(shared_server: ValkeyServer, settings: Settings) -> Iterator[Fill]:
    """Set the usage of a day, so many days ago."""
    with redis.Redis.from_url(shared_server.url) as client:

        def fill(days_ago: int, values: dict[str, str]) -> None:
            day = (TODAY - EPOCH).days - days_ago
            client.hset(f"{{{settings.redis.prefix}}}:usage:{day}", mapping=values)

        yield fill


@pytest.fixture
def settings(shared_settings: Settings) -> Settings:
    return shared_settings


@pytest.fixture
def usage_app(settings: Settings) -> Flask:
    return create_app(settings)


@pytest.fixture
def admin(usage_app: Flask) -> FlaskClient:
    client = usage_app.test_client()
    client.environ_base["HTTP_X_API_KEY"] = ADMIN_KEY
    return client


def query(**days: int) -> str:
    return "&".join(f"{name}={TODAY - timedelta(ago)}" for name, ago in days.items())


def test_the_usage_has_a_row_for_each_day_tenant_and_model(admin: FlaskClient, fill: Fill) -> None:
    fill(0, {"acme demo": "3 2 100 20 40 5999 70000", "one org/plain": "1 1 5 6 0 1000 2000"})
    fill(2, {"acme demo": "1 1 10 2 0 0 1000 61500 2 3000000"})
    fill(29, {"acme demo": "1 0 0 0 0 0 0"})
    fill(30, {"acme demo": "9 9 9 9 9 9 9"})
    report = admin.get(f"/v1/admin/usage?{query(to=0)}").json
    assert UsageReport().validate(report) == {}
    assert [(row["day"], row["tenant"], row["model"]) for row in report["data"]] == [
        (str(TODAY - timedelta(29)), "acme", "demo"),
        (str(TODAY - timedelta(2)), "acme", "demo"),
        (str(TODAY), "acme", "demo"),
        (str(TODAY), "one", "org/plain"),
    ]
    assert report["totals"] == {
        "requests": 6,
        "succeeded": 4,
        "input_tokens": 115,
        "cached_tokens": 40,
        "output_tokens": 28,
        "queue_ms": 6,
        "gpu_ms": 73,
        "audio_seconds": 61.5,
        "images": 2,
        "pixel_steps": 3_000_000,
    }


def test_the_usage_is_filtered_by_days_tenant_and_model(admin: FlaskClient, fill: Fill) -> None:
    line = "1 1 1 1 1 1 1"
    fill(0, {"acme demo": line, "acme org/plain": line, "one demo": line})
    fill(12, {"acme demo": line})
    counts = {
        "tenant=acme": 3,
        "tenant=acme&model=demo": 2,
        "model=demo": 3,
        "tenant=nobody": 0,
        "": 4,
        query(**{"from": 12, "to": 12}): 1,
        query(**{"from": 11, "to": 0}): 3,
    }
    found = {words: len(admin.get(f"/v1/admin/usage?{words}").json["data"]) for words in counts}
    assert found == counts


def test_the_usage_as_csv_has_the_same_rows(admin: FlaskClient, fill: Fill) -> None:
    fill(0, {"acme demo": "3 2 100 20 40 5999 70000"})
    for words, accept in (("format=csv", ""), ("", "text/csv")):
        answer = admin.get(f"/v1/admin/usage?{words}&{query(to=0)}", headers={"Accept": accept})
        assert answer.content_type == "text/csv; charset=utf-8"
        assert "attachment; filename=" in answer.headers["Content-Disposition"]
        (row,) = csv.DictReader(io.StringIO(answer.text))
        values = {"day": str(TODAY), "tenant": "acme", "model": "demo", "requests": "3", "succeeded": "2"}
        assert values.items() <= row.items()
        assert (row["cached_tokens"], row["queue_ms"], row["gpu_ms"]) == ("40", "5", "70")


@pytest.mark.parametrize(
    ("words", "param"),
    [
        ("from=yesterday", "from"),
        ("to=2026-02-30", "to"),
        ("from=2026-02-02&to=2026-02-01", "from"),
        ("from=2024-01-01&to=2026-01-01", "from"),
        ("to=0001-01-01", "from"),
        ("format=xml", "format"),
        (f"tenant={'x' * 300}", "tenant"),
        (f"model={'x' * 300}", "model"),
    ],
)
def test_a_wrong_parameter_is_refused_with_its_name(admin: FlaskClient, words: str, param: str) -> None:
    answer = admin.get(f"/v1/admin/usage?{words}")
    assert (answer.status_code, answer.json["error"]["param"]) == (400, param)


def test_more_rows_than_the_limit_are_refused(
    admin: FlaskClient, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.access.usage_routes.MAX_ROWS", 4)
    fill(0, {f"acme m{number}": "1 1 1 1 1 1 1" for number in range(4)})
    assert admin.get("/v1/admin/usage").status_code == 200
    fill(0, {"acme m5": "1 1 1 1 1 1 1"})
    assert admin.get("/v1/admin/usage").json["error"]["param"] == "from"
    assert admin.get("/v1/admin/usage?tenant=nobody").status_code == 200


def test_the_usage_needs_an_administrator(usage_app: Flask) -> None:
    answer = usage_app.test_client().get("/v1/admin/usage", headers={"x-api-key": KEY})
    assert answer.status_code == 403


def test_the_command_shows_the_usage_as_a_table_csv_and_json(
    usage_app: Flask, fill: Fill, tmp_path: Path
) -> None:
    fill(0, {"acme demo": "3 2 100 20 40 5999 70000"})
    fill(1, {"one demo": "1 1 1 1 0 0 1000"})
    server = make_server("127.0.0.1", 0, usage_app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    environment = {
        "STOKER_DATA_DIR": str(tmp_path),
        "STOKER_ADMIN_KEY": ADMIN_KEY,
        "STOKER_URL": f"http://127.0.0.1:{server.server_port}",
    }

    def run(*words: str) -> str:
        result = CliRunner().invoke(cli, ["usage", *words], env=environment)
        assert result.exit_code == 0, result.output
        return result.output

    try:
        head, first, second, total = map(str.split, run().splitlines())
        assert head[:4] == ["day", "tenant", "model", "requests"]
        assert (first[1:4], second[1:4]) == (["one", "demo", "1"], ["acme", "demo", "3"])
        assert total == ["all", "4", "3", "101", "40", "21", "5", "71"]
        (row,) = csv.DictReader(io.StringIO(run("--csv", "--tenant", "acme", "--from", str(TODAY))))
        assert (row["tenant"], row["gpu_ms"]) == ("acme", "70")
        assert json.loads(run("--json", "--model", "other"))["data"] == []
        wrong = CliRunner().invoke(cli, ["usage", "--to", "never"], env=environment)
        assert (wrong.exit_code, "such as 2026-01-31" in wrong.output) == (2, True)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
