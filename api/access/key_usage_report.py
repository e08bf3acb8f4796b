"""The report of what one tenant used by day, model and key: one at a time for each caller's tenant.

A report reads up to 50,000 rows for a small request. Those of one tenant wait for each other on the event
loop, so they take neither the threads nor the processor from other tenants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from api.access.caller import Caller
from api.access.registry import AccessRegistry
from api.access.usage_report import MAX_ROWS, amounts, report, rows_as_csv
from api.http.errors import ApiError, InvalidRequest
from api.http.fair_semaphore import FairSemaphore, Limit
from api.services import AppServices
from scheduler.usage import KeyUsageQuery, TooManyRows, UsageStore
from store.errors import ServerBusy, StokerError

REPORTS_OF_TENANT = Limit(running=1, requests=8)
"""A page asks for two at once."""
REPORTS_OF_ALL = Limit(running=2, requests=64)
RETRY_S = 2


class ReportTurns(FairSemaphore):
    """The turns of one process to make reports. Refuses with `too_many_reports` and `ServerBusy`."""

    def __init__(self) -> None:
        super().__init__(REPORTS_OF_TENANT, REPORTS_OF_ALL, _refused)


def _refused(by_tenant: bool) -> StokerError:
    if by_tenant:
        message = "too many of the tenant's requests are waiting for reports of its usage"
        return ApiError(message, code="too_many_reports", retry_after_s=RETRY_S)
    return ServerBusy("too many requests are waiting for reports of usage", retry_after_s=RETRY_S)


def make_report(
    services: AppServices, caller: Caller, query: KeyUsageQuery, form: str
) -> tuple[dict[str, str], bytes]:
    """The headers and the body of a report. Raises `InvalidRequest` for too many rows.

    The keys about which the caller may not read count as none.
    """
    groups, period = query.groups, (query.first, query.last)
    keys = services[AccessRegistry].identities.keys_of(query.tenant)
    query = replace(query, hidden=frozenset(key.id for key in keys if not caller.sees(key)))
    try:
        used = services[UsageStore].sum_keys(query, MAX_ROWS)
    except TooManyRows:
        problem = f"these days have more than {MAX_ROWS} rows: request fewer days, or group by less"
        raise InvalidRequest(problem, param="from") from None
    labels = {key.id: key.label for key in keys}
    data = []
    for group in sorted(used.by_group, key=_order):
        named = dict(zip(groups, group, strict=True))
        if "key" in named:
            named["key_label"] = labels.get(named["key"] or "", "")
        data.append({**named, **amounts(used.by_group[group])})
    if form == "csv":
        columns: Sequence[str] = [*groups, *(["key_label"] if "key" in groups else [])]
        return rows_as_csv(period, columns, data)
    about: dict[str, Any] = {"tenant": query.tenant, "group_by": list(groups)}
    body = orjson.dumps({**report(period, data, used.total), **about})
    return {"Content-Type": "application/json"}, body


def _order(group: tuple[Any, ...]) -> list[str]:
    return [str(value or "") for value in group]
