"""Header fields of a request, as Werkzeug's own look-ups find them."""

from __future__ import annotations

import pytest
from werkzeug.datastructures import EnvironHeaders

from api.http.request_headers import RequestHeaders, StokerRequest

ENVIRON = {
    "HTTP_AUTHORIZATION": "Bearer k",
    "HTTP_X_CACHE_TAG": "",
    "CONTENT_TYPE": "application/json",
    "CONTENT_LENGTH": "12",
    "HTTP_CONTENT_MD5": "x",
    "wsgi.url_scheme": "http",
    "REMOTE_ADDR": "127.0.0.1",
}
NAMES = [
    "Authorization",
    "authorization",
    "x-cache-tag",
    "X-Missing",
    "Content-Type",
    "content-length",
    "Content-MD5",
    "Remote-Addr",
    "wsgi.url_scheme",
    "",
]


@pytest.mark.parametrize("name", NAMES)
def test_field_is_found_as_werkzeug_finds_it(name):
    ours, theirs = RequestHeaders(ENVIRON), EnvironHeaders(ENVIRON)
    assert ours.get(name) == theirs.get(name)
    assert ours.get(name, "none") == theirs.get(name, "none")
    assert (name in ours) == (name in theirs)


def test_field_is_converted_when_a_type_is_given():
    assert RequestHeaders(ENVIRON).get("Content-Length", type=int) == 12
    assert RequestHeaders(ENVIRON).get("Content-Type", 7, int) == 7


def test_key_that_is_no_text_is_in_no_headers():
    assert 1 not in RequestHeaders(ENVIRON)


def test_requests_of_the_app_have_these_headers():
    with StokerRequest({**ENVIRON, "REQUEST_METHOD": "GET"}) as made:
        assert type(made.headers) is RequestHeaders
