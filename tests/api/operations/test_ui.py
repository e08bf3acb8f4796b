"""The files of the UI, as the API serves them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from dataclasses import replace

import pytest
from flask import Flask
from flask.testing import FlaskClient

from api.operations.ui_files import FOLDER, UiFile, ui_files
from api.services import AppServices
from config.settings import Settings, UiSettings
from tests.support.wsgi_answers import create_app

PAGES = [path for path, file in ui_files().items() if file.name.endswith(".html")]
HASHED = next(path for path in ui_files() if path.startswith("_app/immutable/entry/"))


@pytest.fixture
def browser(app: Flask) -> FlaskClient:
    """A client without a key."""
    return app.test_client()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_needs_no_key_and_is_checked_again_at_each_visit(browser: FlaskClient, page: str) -> None:
    answer = browser.get(f"/ui/{page}")
    assert (answer.status_code, answer.content_type) == (200, "text/html; charset=utf-8")
    assert answer.headers.getlist("Cache-Control") == ["no-cache"]
    again = browser.get(f"/ui/{page}", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    assert again.headers["Content-Security-Policy"]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_its_own_scripts_only_and_makes_html_of_no_text(browser: FlaskClient, page: str) -> None:
    answer = browser.get(f"/ui/{page}")
    parts = [part.strip().partition(" ") for part in answer.headers["Content-Security-Policy"].split(";")]
    policy = {name: values for name, _, values in parts}
    (script,) = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy["script-src"] == f"'self' 'sha256-{digest}'"
    assert (policy["default-src"], policy["base-uri"], policy["frame-ancestors"]) == ("'none'",) * 3
    assert (policy["style-src"], policy["connect-src"], policy["form-action"]) == ("'self'",) * 3
    assert policy["require-trusted-types-for"] == "'script'"
    assert policy["trusted-types"] == "svelte-trusted-html stoker-worker"
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Permissions-Policy"]


def test_a_file_with_a_digest_in_its_name_is_stored_for_ever(browser: FlaskClient) -> None:
    answer = browser.get(f"/ui/{HASHED}")
    assert answer.headers.getlist("Cache-Control") == ["public, max-age=31536000, immutable"]
    assert answer.content_type == "text/javascript; charset=utf-8"
    assert answer.headers["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize("name", ["_app/immutable/a.js", "_app/immutable/assets/pdf.worker.mjs"])
def test_a_script_that_runs_as_a_worker_reaches_its_own_origin_only(name: str) -> None:
    file = UiFile(name, b"x")
    policy = file.headers["Content-Security-Policy"]
    assert policy == "default-src 'none'; script-src 'self'; connect-src 'self'"
    assert file.content_type == "text/javascript; charset=utf-8"


def test_a_file_is_compressed_for_a_client_that_accepts_it(browser: FlaskClient) -> None:
    plain = browser.get(f"/ui/{HASHED}")
    packed = browser.get(f"/ui/{HASHED}", headers={"Accept-Encoding": "br, gzip"})
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data == (FOLDER / HASHED).read_bytes()
    assert packed.headers["ETag"] != plain.headers["ETag"]


def test_a_type_that_does_not_become_smaller_is_not_compressed() -> None:
    assert UiFile("a.png", b"x").prepared.gzipped is None
    assert UiFile("a.png", b"x").content_type == "image/png"
    assert UiFile("a.unknown", b"x").content_type == "application/octet-stream"


@pytest.mark.parametrize(
    "path", ["nothing", "index.html", "sub/../index.html", "..%2fapp.py", "_app/", "%00"]
)
def test_a_path_of_no_file_is_the_apis_error_and_is_not_stored(browser: FlaskClient, path: str) -> None:
    answer = browser.get(f"/ui/{path}")
    assert (answer.status_code, answer.json["error"]["code"]) == (404, "not_found")
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(("path", "start"), [("nothing", "./"), ("admin/nothing/x", "../../")])
def test_a_browser_gets_a_page_that_leads_to_the_first_one_when_a_path_has_no_file(
    browser: FlaskClient, path: str, start: str
) -> None:
    answer = browser.get(f"/ui/{path}", headers={"Accept": "text/html,application/xml;q=0.9,*/*;q=0.8"})
    assert (answer.status_code, answer.content_type) == (404, "text/html; charset=utf-8")
    assert re.findall(r'href="([^"]*)"', answer.text) == [start]
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'"
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_page_is_reached_by_one_path_only_which_carries_its_policy(browser: FlaskClient) -> None:
    for path in ("/static/ui/index.html", "/static/./ui/index.html", "/static/swagger-ui/../ui/index.html"):
        assert browser.get(path).status_code == 404, path


def test_the_path_without_a_slash_leads_to_the_first_page_below_any_prefix(browser: FlaskClient) -> None:
    answer = browser.get("/ui", headers={"Host": "evil.example"})
    assert (answer.status_code, answer.headers["Location"]) == (308, "ui/")


@pytest.mark.parametrize("page", ["admin", "admin/models"])
def test_a_slash_after_a_page_leads_to_the_page_below_any_prefix(browser: FlaskClient, page: str) -> None:
    answer = browser.get(f"/ui/{page}/", headers={"Host": "evil.example"})
    assert (answer.status_code, answer.headers["Location"]) == (308, f"../{page.rpartition('/')[2]}")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_finds_its_files_below_any_prefix(browser: FlaskClient, page: str) -> None:
    text = browser.get(f"/ui/{page}").text
    addresses = re.findall(r"""(?:href=|src=|import\()"([^"]*)""", text)
    assert len(addresses) > 5
    assert [
        address for address in addresses if not address.startswith("./" if "/" not in page else "../")
    ] == []
    assert 'base: new URL(".' in text


def test_another_method_is_refused(browser: FlaskClient) -> None:
    answer = browser.post("/ui/")
    assert (answer.status_code, answer.json["error"]["code"]) == (405, "method_not_allowed")


def test_no_path_of_the_ui_exists_when_it_is_off(settings: Settings, services: AppServices) -> None:
    off = create_app(replace(settings, ui=UiSettings(enabled=False)), services).test_client()
    for path in ("/ui", "/ui/", f"/ui/{HASHED}"):
        answer = off.get(path)
        assert (answer.status_code, answer.json["error"]["code"]) == (404, "not_found"), path


def test_a_page_is_for_known_hosts_only_on_a_platform_without_keys(open_app: Flask) -> None:
    client = open_app.test_client()
    assert client.get("/ui/", headers={"Host": "localhost:8080"}).status_code == 200
    answer = client.get("/ui/", headers={"Host": "evil.example"})
    assert (answer.status_code, answer.json["error"]["code"]) == (403, "host_not_allowed")
