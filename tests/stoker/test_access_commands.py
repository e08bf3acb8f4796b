"""`stoker tenants` and `stoker keys`, against the real API with a real Redis."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from werkzeug.serving import make_server

from api.services import EXTENSION
from config.api_keys import digest_of
from config.settings import Settings, Tenant
from stoker.access import InvalidTime, key_table, tenant_table, unix_time
from stoker.cli import cli
from stoker.client import ApiClient, ApiClientError
from tests.support.signers import KeyHolder
from tests.support.wsgi_answers import create_app, start_services

Run = Callable[..., Result]


@pytest.fixture
def url(settings: Settings) -> Iterator[str]:
    """The address of an API with an operator, and a tenant whose weight the configuration sets."""
    tenants = {
        "operator": Tenant("operator", api_keys_sha256=(digest_of("sk-admin"),), admin=True),
        "fixed": Tenant("fixed", weight=2.0, configured=("weight",)),
    }
    signers = {"alice": KeyHolder("alice").configured()}
    governance = replace(settings.governance, signers=signers)
    app = create_app(replace(settings, tenants=tenants, governance=governance))
    services = app.extensions[EXTENSION]
    start_services(services)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()
    services.stop()


@pytest.fixture
def run(url: str, tmp_path: Path) -> Run:
    """Run a command as the operator."""

    def run(*words: str) -> Result:
        environment = {"STOKER_DATA_DIR": str(tmp_path), "STOKER_ADMIN_KEY": "sk-admin", "STOKER_URL": url}
        return CliRunner().invoke(cli, words, env=environment)

    return run


def rows(run: Run, thing: str) -> dict[str, dict[str, object]]:
    """What the API lists, by name or id."""
    result = run(thing, "list", "--json")
    return {row.get("name") or row["id"]: row for row in json.loads(result.stdout)}


def test_a_tenant_is_added_set_listed_and_removed(run: Run) -> None:
    added = run("tenants", "add", "acme", "--weight", "3", "--rate-limit", "100req/min", "--max-running", "4")
    assert added.exit_code == 0, added.output
    assert added.output.splitlines()[1].split() == [
        "acme", "3", "high", "rate_limit=100/min", "max_running=4", "0", "command",
    ]  # fmt: skip
    assert run("tenants", "set", "acme", "--max-priority", "low", "--unset", "max-running").exit_code == 0
    acme = rows(run, "tenants")["acme"]
    assert (acme["weight"], acme["max_priority"], acme["max_running"]) == (3.0, "low", None)
    assert "acme" in run("tenants", "list").output
    assert run("tenants", "remove", "acme").output == "acme: removed, keys revoked: 0\n"
    assert "acme" not in rows(run, "tenants")


def test_a_field_that_the_configuration_sets_is_refused_with_that_reason(run: Run) -> None:
    refused = run("tenants", "set", "fixed", "--weight", "9")
    assert (refused.exit_code, refused.output) == (
        1,
        "the configuration sets weight of the tenant fixed and takes precedence: change it there"
        " (set_by_configuration)\n",
    )
    assert run("tenants", "set", "fixed", "--max-running", "2").exit_code == 0
    assert run("tenants", "remove", "fixed").exit_code == 1


def test_a_field_that_has_no_effect_any_more_is_listed() -> None:
    row = {
        "name": "acme",
        "weight": 2.0,
        "max_priority": "high",
        "keys": 1,
        "is_configured": True,
        "created_at": 1.0,
        "ignored": ["weight"],
    }
    assert tenant_table([row])[1:] == [
        "acme  2       high      -       1     configuration, command",
        "  the configuration sets weight; the values set by commands are ignored",
    ]


def test_a_key_is_alone_on_standard_output_and_works_until_it_is_revoked(run: Run, url: str) -> None:
    run("tenants", "add", "acme")
    created = run("keys", "create", "acme", "--scope", "inference", "--model", "alpha", "--label", "CI")
    assert created.exit_code == 0, created.output
    key = created.stdout.strip()
    assert key.startswith("sk-stoker-")
    assert key not in created.stderr
    assert "The key is shown only once:" in created.stderr
    client = ApiClient(url, key)
    assert [model["id"] for model in client.get("/v1/models")["data"]] == ["alpha"]

    (row,) = [row for row in rows(run, "keys").values() if row["tenant"] == "acme"]
    assert (row["models"], row["label"]) == (["alpha"], "CI")
    listed = run("keys", "list", "--tenant", "acme").output
    assert key not in listed
    assert listed.splitlines()[1].split()[:5] == [row["id"], "acme", "inference", "alpha", key[-4:]]

    assert run("keys", "revoke", str(row["id"])).output == f"{row['id']}: revoked\n"
    with pytest.raises(ApiClientError, match="this API key is not known"):
        client.get("/v1/models")


def test_the_revoked_keys_are_listed_when_a_later_one_fails(run: Run) -> None:
    for _ in range(2):
        run("keys", "create", "default", "--label", "to be revoked")
    first, second = [name for name, row in rows(run, "keys").items() if row["label"] == "to be revoked"]
    failed = run("keys", "revoke", first, "key_none", "--json")
    assert failed.exit_code == 5
    assert [key["id"] for key in json.loads(failed.stdout)] == [first]
    assert "key_none" in failed.stderr
    assert run("keys", "revoke", second, "key_none").stdout == f"{second}: revoked\n"


def test_a_key_has_an_end_date(run: Run) -> None:
    created = run("keys", "create", "operator", "--expires", "30d", "--json")
    assert json.loads(created.stdout)["expires_at"] == pytest.approx(time.time() + 30 * 86_400, abs=60)
    assert run("keys", "create", "operator", "--expires", "soon").exit_code == 2
    refused = run("keys", "create", "operator", "--expires", "2001-01-01")
    assert (refused.exit_code, refused.output) == (
        2,
        "expires_at must be in the future (unprocessable_request)\n",
    )


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("keys", "create", "none"), 5, "there is no tenant none"),
        (("keys", "revoke", "key_none"), 5, "there is no key key_none"),
        (("tenants", "set", "none", "--weight", "2"), 5, "there is no tenant none"),
        (("tenants", "set", "operator"), 2, "name a field to change"),
        (("tenants", "add", "Acme"), 2, "name must match"),
        (("tenants", "add", "acme", "--rate-limit", "many"), 2, "rate_limit must be a rate limit such as"),
        (("keys", "create", "operator", "--scope", "root"), 2, "'root' is not one of"),
    ],
)
def test_a_wrong_command_is_one_sentence(run: Run, words: tuple[str, ...], code: int, message: str) -> None:
    result = run(*words)
    assert result.exit_code == code
    assert message in result.output


def test_a_list_is_read_page_by_page(api: object, tmp_path: Path) -> None:
    def page(names: list[str], has_more: bool) -> dict[str, object]:
        data = [{"name": name} for name in names]
        return {"data": data, "has_more": has_more, "last_id": names[-1]}

    api.answers = {  # type: ignore[attr-defined]
        "/v1/admin/tenants?limit=1000": [(200, page(["a", "b"], True))],
        "/v1/admin/tenants?limit=1000&after=b": [(200, page(["c"], False))],
    }
    environment = {"STOKER_DATA_DIR": str(tmp_path), "STOKER_URL": api.url}  # type: ignore[attr-defined]
    result = CliRunner().invoke(cli, ["tenants", "list", "--json"], env=environment)
    assert [row["name"] for row in json.loads(result.stdout)] == ["a", "b", "c"]


def test_a_proposed_key_is_shown_once_and_only_its_digest_is_sent(run: Run, url: str) -> None:
    made = run("keys", "create", "operator", "--label", "ci", "--scope", "metrics", "--propose")
    assert made.exit_code == 0, made.output
    secret = made.stdout.strip()
    id, _, words = made.stderr.partition(":")
    assert "1 signature until" in words
    assert f"op approve {id} --key FILE" in words
    proposal = ApiClient(url, "sk-admin").get(f"/v1/governance/proposals/{id}")
    assert proposal["body"] == {
        "change": "create_key",
        "tenant": "operator",
        "digest": digest_of(secret),
        "hint": secret[-4:],
        "values": {"scopes": ["metrics"], "label": "ci"},
    }
    assert secret not in json.dumps(proposal)
    shown = json.loads(run("keys", "create", "operator", "--propose", "--json").stdout)
    assert shown["body"]["digest"] == digest_of(shown["key"])
    assert len(rows(run, "keys")) == 1, "neither counts yet"


def test_an_end_date_is_a_duration_or_a_date() -> None:
    assert unix_time("2h") == pytest.approx(time.time() + 7200, abs=5)
    assert unix_time("2027-01-31") == unix_time("2027-01-31T01:00+01:00") == 1_801_353_600
    for text in ("", "d", "30", "-1d", "tomorrow", "30 d"):
        with pytest.raises(InvalidTime):
            unix_time(text)


def test_an_expired_key_and_one_of_the_configuration_are_marked() -> None:
    row = {"tenant": "a", "scopes": ["admin"], "models": None, "hint": "", "label": "", "last_used_at": None}
    rows = [
        row | {"id": "key_1", "expires_at": 0.0, "has_expired": True, "is_configured": False},
        row | {"id": "key_2", "expires_at": None, "has_expired": False, "is_configured": True},
    ]
    assert [line.split(maxsplit=5)[5] for line in key_table(rows)[1:]] == [
        "1970-01-01 00:00 UTC (expired)  -",
        "never                           -         (configuration)",
    ]
