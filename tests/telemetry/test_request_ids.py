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
