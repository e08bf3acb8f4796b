"""`stoker alerts`: the table, the check, the changes and acknowledgements."""

from __future__ import annotations

import json
import time

import pytest

from api.operations.alerts.evaluation import Instance
from api.operations.alerts.serializer import serialize_alerts
from api.operations.alerts.store import Acknowledgement, AlertStates
from stoker.watching import pause

PATH = "/v1/admin/alerts"
RULE = "StokerModelFailed"
AT = 1_800_000_000.0


def listed(*instances, acknowledged_at=None, evaluated_at=AT):
    known = (
        {}
        if acknowledged_at is None
        else {RULE: Acknowledgement("ops", acknowledged_at, acknowledged_at, None, "on it")}
    )
    return serialize_alerts(AlertStates(AT, evaluated_at, instances, known))


def failed(model, state="firing", since=AT):
    return Instance(RULE, model, state, since, 1.0)


def test_the_alerts_are_a_table_with_the_most_urgent_first(api, run):
    others = [failed("old", "resolved"), failed("soon", "pending"), failed("known", since=AT - 9)]
    full = Instance("StokerGpuMemoryFull", "gpu0", "firing", AT, 0.99)
    api.answers = {PATH: [(200, listed(*others, full, failed("new"), acknowledged_at=AT - 1))]}
    code, output = run("alerts")
    lines = output.splitlines()[1:]
    assert code == 0
    assert [line.split()[0] for line in lines] == [RULE, "StokerGpuMemoryFull", RULE, RULE, RULE]
    *present, resolved, acknowledged = lines[:1] + lines[2:]
    assert ["Model new has failed" in present[0], "Model soon has failed" in present[1]] == [True, True]
    assert resolved.split()[2] == "resolved"
    assert resolved.endswith("  model old"), "a summary in the present tense would be wrong"
    assert "firing, acknowledged by ops" in acknowledged
    assert "Model known has failed" in acknowledged


@pytest.mark.parametrize(
    ("answer", "code", "line"),
    [
        (listed(failed("m")), 1, "has failed"),
        (listed(failed("m"), acknowledged_at=AT), 0, "acknowledged by ops"),
        (listed(failed("m", "pending")), 0, "pending"),
        (listed(), 0, "no alert fires"),
        (listed(evaluated_at=None), 1, "not been evaluated"),
        (listed(evaluated_at=AT - 61), 1, "no API process does it now"),
        (listed(failed("m"), acknowledged_at=AT, evaluated_at=AT - 3600), 1, "acknowledged by ops"),
    ],
)
def test_a_check_fails_when_an_alert_fires_unacknowledged_or_none_was_evaluated(api, run, answer, code, line):
    api.answers = {PATH: [(200, answer)]}
    found, output = run("alerts", "--check")
    assert (found, line in output) == (code, True)
    assert run("alerts", "--check", "--json") == (code, json.dumps(answer["data"], indent=2) + "\n")


def test_the_table_begins_with_the_time_of_the_rules_when_they_were_not_evaluated_lately(api, run):
    api.answers = {PATH: [(200, listed(failed("m"), evaluated_at=AT - 61)), (200, listed(failed("m")))]}
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(AT - 61))
    late, *table = run("alerts")[1].splitlines()
    assert late == (
        f"The rules were last evaluated at {at}: no API process does it now, so what you see may be old."
    )
    assert run("alerts")[1].splitlines() == table


def test_a_change_is_a_line_when_the_alerts_are_watched(api, run, monkeypatch):
    monkeypatch.setattr("stoker.watching.pause", lambda: pause(0))
    first, second = listed(failed("a")), listed(failed("a"), failed("b"))
    higher = listed(Instance(RULE, "a", "firing", AT, 2.0))
    error = (403, {"error": {"message": "the key was revoked", "code": "invalid_api_key"}})
    api.answers = {PATH: [(200, answer) for answer in (first, higher, second)] + [error]}
    code, output = run("alerts", "--watch", "--json")
    lines = [json.loads(line) for line in output.splitlines()]
    assert (code, lines[:2]) == (4, [first["data"], second["data"]])
    assert lines[2]["error"]["code"] == "invalid_api_key"


def test_the_end_of_the_evaluations_is_a_change_when_the_alerts_are_watched(api, run, monkeypatch):
    monkeypatch.setattr("stoker.watching.pause", lambda: pause(0))
    answers = [listed(failed("a")), listed(failed("a"), evaluated_at=AT - 61)]
    error = (403, {"error": {"message": "the key was revoked", "code": "invalid_api_key"}})
    api.answers = {PATH: [*((200, answer) for answer in answers), error]}
    _, output = run("alerts", "--watch")
    assert output.count("no API process does it now") == 1


def test_an_acknowledgement_is_sent_with_its_note_and_taken_back(api, run):
    (known,) = [one for one in listed(failed("m"), acknowledged_at=AT)["data"] if one["name"] == RULE]
    path = f"{PATH}/{RULE}/acknowledge"
    api.answers = {
        path: [(200, known)],
        f"DELETE {path}": [(200, known | {"acknowledgement": None})],
    }
    code, output = run("alerts", "acknowledge", RULE, "--note", "on it", "--hours", "4")
    assert (code, output) == (0, f"the alerts of {RULE} that fire are acknowledged until they are resolved\n")
    assert api.bodies == [{"note": "on it", "hours": 4}]
    assert run("alerts", "acknowledge", RULE, "--end") == (0, f"the alerts of {RULE} are not acknowledged\n")


def test_the_nearest_rule_is_named_when_there_is_none_of_the_name(api, run):
    error = {"error": {"message": "no alert rule has this name", "code": "not_found"}}
    api.answers = {
        f"{PATH}/StokerModelFail/acknowledge": [(404, error)],
        PATH: [(200, listed())],
    }
    code, output = run("alerts", "acknowledge", "StokerModelFail")
    assert code == 5
    assert f"did you mean {RULE}?" in output


@pytest.mark.parametrize("words", [("--check", "--watch"), ("acknowledge", RULE, "--end", "--note", "x")])
def test_options_that_exclude_each_other_are_refused(run, words):
    code, output = run("alerts", *words)
    assert code == 2
    assert "goes without" in output or "go without" in output
