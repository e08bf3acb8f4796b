"""`stoker sessions`: the table, the JSON, and the end of a session."""

from __future__ import annotations

import json

PATH = "/v1/admin/sessions"
OF_KEY = {
    "id": "a" * 64,
    "object": "browser_session",
    "person": None,
    "subject": None,
    "key": "key_1",
    "tenant": "acme",
    "has_admin_part": False,
    "address": "10.0.0.1",
    "user_agent": "Firefox",
    "created_at": 1745880070.0,
    "last_used_at": 1745880090.0,
    "is_current": False,
}
VERA = {"name": "Vera Viewer", "email": None, "roles": ["viewer", "approver"]}
OF_PERSON = {**OF_KEY, "id": "b" * 64, "key": None, "subject": "id-of-vera", "person": VERA}


def test_the_sessions_are_a_table_that_names_the_person_or_the_key(api, run):
    api.answers = {PATH: [(200, {"object": "list", "data": [OF_PERSON, OF_KEY], "has_more": False})]}
    code, output = run("sessions")
    _, person, key = output.splitlines()
    assert code == 0
    assert person.startswith("id-of-vera")
    assert "viewer, approver" in person
    assert key.split()[0] == "key_1"
    assert [line.split()[-1] for line in (person, key)] == ["b" * 64, "a" * 64]


def test_the_number_of_all_sessions_is_noted_when_some_are_left_out(api, run):
    listed = {"object": "list", "data": [OF_KEY], "has_more": True, "total": 1001}
    api.answers = {PATH: [(200, listed)]}
    output = run("sessions")[1]
    assert output.endswith("1001 sessions exist; these are the 1 that were used last\n")
    assert '"note"' in run("sessions", "--json")[1]


def test_json_has_the_sessions_of_the_api(api, run):
    api.answers = {PATH: [(200, {"object": "list", "data": [OF_KEY], "has_more": False})]}
    code, output = run("sessions", "--json")
    assert (code, json.loads(output)) == (0, [OF_KEY])


def test_a_session_is_ended_by_its_id(api, run):
    id = "a" * 64
    ended = {"id": id, "object": "browser_session", "deleted": True}
    api.answers = {f"DELETE {PATH}/{id}": [(200, ended)]}
    assert run("sessions", "end", id) == (0, f"the session {id} has ended\n")
