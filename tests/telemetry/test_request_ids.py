"""The ids of a request in log records."""

from __future__ import annotations

import json
import logging
import threading
import warnings

import pytest

from config.settings import Settings
from telemetry.logging import configure_logging
from telemetry.request_ids import RequestIds, current_ids


@pytest.fixture
def ids():
    ids = RequestIds()
    ids.tenant = "acme"
    before = current_ids.set(ids)
    yield ids
    current_ids.reset(before)


def test_a_record_has_the_ids_of_the_request_that_is_served(stream, ids):
    configure_logging(Settings(log_format="json"), stream)
    logging.getLogger("api").info("refused")

    line = json.loads(stream.getvalue())
    assert (line["request_id"], line["tenant"]) == (ids.request_id, "acme")
    assert "model" not in line


def test_an_id_of_the_record_itself_wins(stream, ids):
    configure_logging(Settings(), stream)
    logging.getLogger("api").info("ended", extra={"response_id": "resp_1", "tenant": "other"})

    assert (
        stream.getvalue()
        .rstrip()
        .endswith(f"ended request_id={ids.request_id} tenant=other response_id=resp_1")
    )


def test_a_line_break_in_a_message_begins_no_line(stream):
    configure_logging(Settings(), stream)
    logging.getLogger("api").info("refused: %s", "a\n12:00:00.000 INFO    api        forged\x1b[2J é")

    text = stream.getvalue()
    assert text.count("\n") == 1
    assert text.rstrip().endswith("refused: a\\n12:00:00.000 INFO    api        forged\\x1b[2J é")


@pytest.mark.parametrize("id", ["resp_" + "0f" * 16, "chatcmpl-" + "ab" * 16, "cmpl-" + "12" * 16])
def test_the_id_of_a_response_that_is_asked_for_is_kept(ids, id: str):
    ids.ask_for_response(id)

    assert ids.response_id == id


@pytest.mark.parametrize(
    "id",
    [
        "resp_\r\n12:00:00.000 INFO forged",
        "resp_x tenant=other",
        "resp_" + "0f" * 16 + "\n",
        "resp_" + "0f" * 5000,
        "sk-stoker-secret",
        "",
    ],
)
def test_a_text_that_is_no_id_of_a_response_does_not_reach_the_log(ids, id: str):
    ids.ask_for_response(id)

    assert ids.response_id is None


def test_a_record_outside_of_a_request_has_no_ids(stream):
    configure_logging(Settings(), stream)
    logging.getLogger("api").info("begins")

    assert stream.getvalue().rstrip().endswith("begins")


@pytest.mark.filterwarnings("default")
def test_a_warning_of_python_is_one_line(stream):
    configure_logging(Settings(log_format="json"), stream)
    warnings.warn("two\nlines", stacklevel=1)

    assert "two\nlines" in json.loads(stream.getvalue())["message"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_exception_that_ends_a_thread_is_one_line(stream):
    configure_logging(Settings(log_format="json"), stream)

    def fail() -> None:
        raise RuntimeError("lost")

    thread = threading.Thread(target=fail, name="reader")
    thread.start()
    thread.join()

    line = json.loads(stream.getvalue())
    assert line["message"] == "the thread reader has ended"
    assert "RuntimeError: lost" in line["trace"]
