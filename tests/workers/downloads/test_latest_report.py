"""Reports of progress: which are sent."""

from __future__ import annotations

from tests.support.waiting import wait_until
from workers.downloads.latest_report import LatestReport


def test_the_latest_report_is_sent_when_none_follows() -> None:
    sent: list[tuple[float, str, float | None]] = []
    report = LatestReport(lambda *values: sent.append(values), 0.05)
    for part in range(10):
        report.take(part / 10, f"part {part}", None)
    wait_until(lambda: sent[-1] == (0.9, "part 9", None))
    assert sent[0] == (0.0, "part 0", None)
    assert len(sent) < 10


def test_no_report_is_sent_after_the_end() -> None:
    sent: list[str] = []
    with LatestReport(lambda _done, stage, _left: sent.append(stage), 3600.0) as report:
        report.take(0.0, "first", None)
        report.take(0.5, "second", None)
    report.take(1.0, "third", None)
    assert sent == ["first"]
