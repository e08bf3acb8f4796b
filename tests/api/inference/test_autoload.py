"""`?autoload=`: what a request says about the load of its model, within the rights of its caller."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flask.testing import FlaskClient

from config.settings import Settings
from tests.api.conftest import ADMIN_KEY, KEY, OTHER_KEY
from tests.support.api_fakes import Fakes

pytestmark = pytest.mark.rule("llama-server/router-autoload")


@pytest.fixture
def settings(settings: Settings) -> Settings:
    tenants = {**settings.tenants, "one": replace(settings.tenants["one"], may_load=True)}
    return replace(settings, tenants=tenants)


@pytest.mark.parametrize(
    ("key", "query", "choice"),
    [
        (KEY, "", None),
        (KEY, "?autoload=", None),
        (KEY, "?autoload=true", True),
        (KEY, "?x=autoload&autoload=1", True),
        (KEY, "?autoload=false", False),
        (KEY, "?autoload=yes", False),  # as llama-server reads it
        (ADMIN_KEY, "?autoload=true", True),
        (OTHER_KEY, "?autoload=true", None),
        (OTHER_KEY, "?autoload=false", False),
    ],
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/completion"])
def test_the_query_decides_within_the_rights_of_the_key(
    http: FlaskClient, fakes: Fakes, path: str, key: str, query: str, *, choice: bool | None
) -> None:
    body = {"model": "demo", "messages": [{"role": "user", "content": "x"}], "prompt": "x"}
    if path == "/completion":
        del body["messages"]
    else:
        del body["prompt"]
    http.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {key}"
    answer = http.post(path + query, json=body)
    assert answer.status_code == 200, answer.get_json()
    assert fakes.ledger.only().load_on_demand is choice
