"""The file of outcomes: what is on disk survives, each line once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from api.batches.outcome_file import LineId, Outcome, OutcomeFile, errored, not_processed, succeeded
from api.http.errors import InvalidRequest
from api.inference.dialects.base import ResponseMetadata
from api.inference.messages import dialect as anthropic_messages
from streams.events import End, TextDelta
from tests.support.batch_lines import parsed, result_of
from tests.support.published_schemas import anthropic_check


def opened(folder: Path) -> OutcomeFile:
    return result_of(OutcomeFile.open(folder))


def outcome(number: int, kind: str = "succeeded") -> Outcome:
    return Outcome(number, kind, {"number": number}, [1, 2, 3, 4])


def test_a_successor_continues_with_what_is_on_disk(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.append([outcome(1), outcome(2, "errored")])
    second = opened(tmp_path)
    assert second.seen == {1, 2}
    assert second.counts == {"succeeded": 1, "errored": 1, "canceled": 0, "expired": 0}
    assert second.usage == [2, 4, 6, 8]
    assert list(second.latest) == [1, 2]


def test_the_end_of_a_write_that_was_interrupted_does_not_count(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.append([outcome(1)])
    with first.path.open("ab") as file:
        file.write(json.dumps({"n": 2}).encode())
    second = opened(tmp_path)
    assert second.seen == {1}
    second.append([outcome(2)])
    assert opened(tmp_path).seen == {1, 2}


def test_a_former_writer_reaches_no_file(tmp_path: Path) -> None:
    former = opened(tmp_path)
    later = opened(tmp_path)
    former.append([outcome(7, "expired")])
    later.append([outcome(7)])
    last = opened(tmp_path)
    assert last.counts["succeeded"] == 1
    assert last.counts["expired"] == 0


def test_a_takeover_that_was_interrupted_counts_no_line_twice(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.append([outcome(1)])
    (tmp_path / f"0{OutcomeFile.SUFFIX}").write_bytes(first.path.read_bytes())  # not yet removed
    assert opened(tmp_path).counts["succeeded"] == 1


def test_a_full_disk_raises_once_and_leaves_no_rests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = opened(tmp_path)
    first.append([outcome(1)])
    first._file.close()
    first._file = open("/dev/full", "ab")  # noqa: SIM115, PTH123 - every write to it fails
    with pytest.raises(OSError, match="No space left"):
        first.append([outcome(2)])
    first.close()
    (tmp_path / "killed.new").touch()

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("api.batches.outcome_file.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        opened(tmp_path)
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == [first.path]
    assert opened(tmp_path).seen == {1}


def test_each_line_of_a_batch_of_messages_has_the_published_schema() -> None:
    line = LineId("messages", 1, "a", "ab" * 16)
    metadata = ResponseMetadata("msg_1", 1, "demo", {})
    answer = anthropic_messages.response_object(metadata, [TextDelta("a"), End("completed", "stop")])
    check = anthropic_check("result")  # OpenAI's document has no schema of its lines
    for made in (
        succeeded(line, answer, [1, 1, 0, 0]),
        errored(line, error := InvalidRequest("m", param="p"), anthropic_messages.error_body(error)),
        not_processed(line, "expired"),
        not_processed(line, "canceled"),
    ):
        assert check(made.line) is None
        assert check({**made.line, "custom_id": 1}) is not None


def test_results_are_parted_by_whether_there_is_an_answer(tmp_path: Path) -> None:
    file = opened(tmp_path)
    file.append([outcome(1), outcome(2, "errored"), outcome(3), outcome(4, "expired")])
    result_of(file.write_results(tmp_path / "a", tmp_path / "b"))
    assert [line["number"] for line in parsed((tmp_path / "a").read_bytes())] == [1, 3]
    assert [line["number"] for line in parsed((tmp_path / "b").read_bytes())] == [2, 4]
    result_of(file.write_results(tmp_path / "a", tmp_path / "a"))
    assert len(parsed((tmp_path / "a").read_bytes())) == 4


def test_the_lines_have_the_form_of_their_api() -> None:
    error = InvalidRequest("no", param="x")
    id = LineId("openai", 1, "c", "ab")
    assert succeeded(id, {"a": 1}, [0, 0, 0, 0]).line == {
        "id": "batch_req_ab",
        "custom_id": "c",
        "response": {"request_id": "req_ab", "status_code": 200, "body": {"a": 1}},
        "error": None,
    }
    assert errored(id, error, {"error": {}}).line["response"]["status_code"] == 400
    ended = not_processed(id, "expired").line
    assert (ended["response"], ended["error"]["code"]) == (None, "batch_expired")
    of_messages = LineId("messages", 1, "c", "ab")
    assert succeeded(of_messages, {"a": 1}, [0, 0, 0, 0]).line["result"] == {
        "type": "succeeded",
        "message": {"a": 1},
    }
    assert errored(of_messages, error, {"type": "error"}).line["result"]["error"] == {"type": "error"}
    assert not_processed(of_messages, "canceled").line == {"custom_id": "c", "result": {"type": "canceled"}}
