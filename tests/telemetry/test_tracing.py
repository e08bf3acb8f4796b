"""When traces are on. What they contain is shown by tests/journeys/test_tracing.py."""

from __future__ import annotations

import sys

import pytest

from telemetry.tracing import Tracing, open_tracing

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}


@pytest.mark.parametrize("environ", [{}, {**ENDPOINT, "OTEL_SDK_DISABLED": "true"}])
def test_traces_are_off_without_a_collector_or_when_disabled(environ):
    assert open_tracing("stoker-api", environ) is None


def test_missing_packages_are_one_warning_with_the_command_that_installs_them(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)

    assert open_tracing("stoker-api", ENDPOINT) is None
    assert "pip install -e '.[otel]'" in caplog.text


def test_a_client_that_does_not_sample_its_trace_gets_no_spans():
    tracing = Tracing("stoker-api")
    try:
        span = tracing.begin_request("GET", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")

        assert tracing.traceparent(span) is None
    finally:
        tracing.stop()


@pytest.mark.parametrize("header", ["", "x", "00-0-0-01", "00-" + "z" * 32 + "-" + "0" * 16 + "-01"])
def test_a_header_that_is_no_trace_begins_a_new_one(header):
    tracing = Tracing("stoker-api")
    try:
        span = tracing.begin_request("GET", header)

        assert tracing.traceparent(span).startswith("00-")
    finally:
        tracing.stop()
