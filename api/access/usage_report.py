"""What /v1/admin/usage and /v1/account/usage share: the days, the format, and the rows as JSON and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from flask import request

from api.http.errors import InvalidRequest
from api.http.parameters import choice_parameter, query_parameter
from scheduler.usage import Usage

DEFAULT_DAYS = 30
MAX_ROWS = 20_000
FORMATS = ("json", "csv")
AMOUNTS = (
    *("requests", "succeeded", "input_tokens", "cached_tokens", "output_tokens"),
    *("queue_ms", "gpu_ms", "audio_seconds", "images", "pixel_steps"),
)
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""A cell that begins with one of these is a formula to a spreadsheet (OWASP, "CSV Injection")."""


def days_parameters(kept_days: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters that `days` reads."""
    first = f"The first day (UTC); {DEFAULT_DAYS - 1} days before the last unless set."
    last = f"The last day (UTC), at most {kept_days - 1} days after the first; today unless set."
    return query_parameter("from", first, format="date"), query_parameter("to", last, format="date")


FORMAT = choice_parameter("format", "The format; `json` unless set, or the one that `Accept` names.", FORMATS)


def days(kept_days: int) -> tuple[date, date]:
    """The first and the last day that the request asks for. Raises `InvalidRequest`."""
    last = _day("to") or datetime.now(UTC).date()
    first = _day("from") or max(date.min + timedelta(DEFAULT_DAYS), last) - timedelta(DEFAULT_DAYS - 1)
    if first > last:
        raise InvalidRequest("from must not be after to", param="from")
    if (last - first).days >= kept_days:
        raise InvalidRequest(f"the range must have at most {kept_days} days", param="from")
    return first, last


def wanted_format() -> str:
    """The format that the request asks for. Raises `InvalidRequest`."""
    given = request.args.get("format")
    if given is None:
        best = request.accept_mimetypes.best_match(["application/json", "text/csv"])
        return "csv" if best == "text/csv" else "json"
    if given not in FORMATS:
        raise InvalidRequest(f"format must be one of {', '.join(FORMATS)}", param="format")
    return given


def amounts(usage: Usage) -> dict[str, float]:
    """A usage in the units of the report."""
    return {
        "requests": usage.requests,
        "succeeded": usage.succeeded,
        "input_tokens": usage.input_tokens,
        "cached_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        "queue_ms": usage.queue_us // 1000,
        "gpu_ms": usage.run_us // 1000,
        "audio_seconds": round(usage.audio_ms / 1000, 3),
        "images": usage.images,
        "pixel_steps": usage.pixel_steps,
    }


def rows_as_csv(
    period: tuple[date, date], names: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> tuple[dict[str, str], bytes]:
    """The headers and the body of the rows as CSV; `names` are the columns before the amounts."""
    first, last = period
    headers = {
        "Content-Type": "text/csv; charset=utf-8",
        "Content-Disposition": f'attachment; filename="usage-{first}-{last}.csv"',
    }
    return headers, _csv((*names, *AMOUNTS), rows).encode()


def report(period: tuple[date, date], rows: Sequence[Mapping[str, Any]], totals: Usage) -> dict[str, Any]:
    """The body as JSON."""
    first, last = period
    about = {"object": "usage", "first_day": first, "last_day": last}
    return {**about, "data": rows, "totals": amounts(totals)}


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({name: _cell(row.get(name)) for name in columns} for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    """A value for a spreadsheet: a text that it would compute gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value


def _day(name: str) -> date | None:
    text = request.args.get(name)
    if text is None:
        return None
    try:
        if len(text) != len("2026-01-31"):
            raise ValueError
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidRequest(f"{name} must be a day such as 2026-01-31", param=name) from None
