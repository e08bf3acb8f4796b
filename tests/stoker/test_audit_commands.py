"""`stoker audit`, against the real API, a real chain in Redis, and its files."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from werkzeug.serving import make_server

from api.approvals.audit_sync import AuditSync
from api.services import EXTENSION, AppServices
from config.api_keys import digest_of
from config.settings import Settings, Tenant
from governance.audit import AuditEvent, AuditLog
from governance.audit.record import GENESIS
from governance.audit.signed_head import sign_head
from governance.platform_key import KEY_FILE, PlatformKey
from stoker import audit_commands
from stoker.cli import cli
from tests.support.audit import change_in_redis
from tests.support.waiting import scaled
from tests.support.wsgi_answers import create_app, start_services

Run = Callable[..., Result]


@pytest.fixture
def services(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppServices]:
    """The services of an API with an operator, and a chain of three records.

    Only its routes write the chain's file: nothing restores it while a test changes it.
    """

    async def no_poll(_sync: AuditSync) -> None: ...

    monkeypatch.setattr(AuditSync, "poll", no_poll)
    operator = Tenant("operator", api_keys_sha256=(digest_of("sk-admin"),), admin=True)
    app = create_app(replace(settings, tenants={"operator": operator}))
    services: AppServices = app.extensions[EXTENSION]
    start_services(services)
    for subject in ("a", "b", "c"):
        services[AuditLog].record(AuditEvent("one", "op token", "load", subject, "refused"))
    services[AuditLog].sync()
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    services.url = f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
    yield services
    server.shutdown()
    thread.join()
    server.server_close()
    services.stop()


@pytest.fixture
def run(services: AppServices) -> Run:
    """Run a command as the operator, on the host of the API."""

    def invoke(*words: object, data_dir: Path = services[Settings].data_dir) -> Result:
        environment = {
            "STOKER_DATA_DIR": str(data_dir),
            "STOKER_ADMIN_KEY": "sk-admin",
            "STOKER_URL": services.url,  # type: ignore[attr-defined]
        }
        return CliRunner().invoke(cli, ["audit", *map(str, words)], env=environment)

    return invoke


def problem(result: Result, exit_code: int = 1) -> str:
    assert result.exit_code == exit_code, result.output
    return result.stderr.removeprefix("Error: ").strip()


def chain_path(services: AppServices) -> Path:
    (path,) = services[AuditLog].file.paths()
    return path


def copied_chain(services: AppServices, folder: Path) -> Path:
    """A copy of the chain's file in another data folder, `folder/other`, which no platform repairs."""
    path = chain_path(services)
    copy = folder / "other" / path.parent.name / path.name
    copy.parent.mkdir(parents=True)
    copy.write_bytes(path.read_bytes())
    return copy


def test_the_files_and_redis_are_verified(run: Run, services: AppServices) -> None:
    for place, options in ((str(services[AuditLog].file.folder), ()), ("Redis", ("--redis",))):
        result = run("verify", *options)
        assert result.exit_code == 0, result.output
        end = services[AuditLog].store.end()
        assert result.stdout == f"{place}: records 1 to 3 are one chain, digest {end.digest}\n"  # type: ignore[union-attr]


def test_the_end_of_the_files_is_compared_with_the_newest_head(
    run: Run, services: AppServices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_commands, "FOLLOW_S", 0.3)
    path = chain_path(services)
    shortened = b"".join(path.read_bytes().splitlines(keepends=True)[:2])
    copied_chain(services, tmp_path).write_bytes(shortened)
    text = problem(run("verify", data_dir=tmp_path / "other"))
    assert text.startswith("the newest head of the running platform: the chain was shortened: ")
    assert "it ends with record 2, and record 3 is missing" in text
    path.write_bytes(shortened)
    monkeypatch.setattr(audit_commands, "FOLLOW_S", scaled(60))  # it ends when the files are repaired
    result = run("verify")
    assert result.exit_code == 0, "the running platform has repaired it"
    assert "the files ended with record 2; the running platform has added those after it" in result.stderr


def test_the_files_are_verified_without_a_running_platform(run: Run) -> None:
    result = run("verify", "--url", "http://127.0.0.1:1")
    assert result.exit_code == 0, result.output
    assert "records 1 to 3 are one chain" in result.stdout
    assert "without a running platform the end of the files cannot be compared" in result.stderr


def test_one_changed_byte_in_a_file_is_found_and_its_record_named(
    run: Run, services: AppServices, tmp_path: Path
) -> None:
    path = copied_chain(services, tmp_path)
    whole, lines = path.read_bytes(), path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        start = sum(map(len, lines[: number - 1]))
        for at in range(0, len(line) - 1, 29):
            changed = bytearray(whole)
            changed[start + at] ^= 1
            path.write_bytes(changed)
            text = problem(run("verify", data_dir=tmp_path / "other"))
            assert text.startswith(f"the chain is broken at record {number} ({path.name}, line {number}): ")
    path.write_bytes(whole)
    assert run("verify", data_dir=tmp_path / "other").exit_code == 0


def test_a_file_that_was_cut_within_a_record_is_named_as_such(
    run: Run, services: AppServices, tmp_path: Path
) -> None:
    path, folder = copied_chain(services, tmp_path), tmp_path / "other"
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    expected = f"the chain is broken at record 3 ({path.name}, line 3): the file was cut within this record"
    assert problem(run("verify", data_dir=folder)) == expected
    path.write_bytes(whole.removesuffix(b"\n"))  # only the end of the line is missing, as an editor leaves it
    assert run("verify", data_dir=folder).exit_code == 0


def test_a_file_that_was_cut_to_nothing_is_a_broken_chain(run: Run, services: AppServices) -> None:
    path = chain_path(services)
    path.write_bytes(b"")
    assert problem(run("verify")).endswith("the file is empty: its records, from 1 on, were cut off")
    later = path.with_name("audit-000000000004.jsonl")
    later.write_bytes(b"")
    path.unlink()
    assert problem(run("verify")).endswith("the file is empty: its records, from 4 on, were cut off")


def test_a_changed_record_in_redis_is_found_and_named(run: Run, services: AppServices) -> None:
    change_in_redis(services[AuditLog], 2, lambda line: line.replace(b'"actor":"one"', b'"actor":"two"'))
    text = problem(run("verify", "--redis"))
    assert text == "the chain is broken at record 2 (in Redis): its digest does not match its content"


def test_a_shortened_chain_is_found_by_a_head_that_was_kept(
    run: Run, services: AppServices, tmp_path: Path
) -> None:
    head = tmp_path / "head.json"
    head.write_text(run("head").stdout)
    assert run("verify", "--head", head).exit_code == 0
    assert run("verify", "--redis", "--head", head).exit_code == 0
    path = chain_path(services)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    shortened = "the chain was shortened: it ends with record 2, and record 3 is missing"
    assert problem(run("verify", "--head", head)) == f"{head}: {shortened}"


@pytest.mark.parametrize(("number", "words"), [(1, "a head of record 1;"), (0, "a head of an empty chain;")])
def test_a_head_that_does_not_cover_the_end_is_named(
    run: Run, services: AppServices, tmp_path: Path, number: int, words: str
) -> None:
    head = tmp_path / "head.json"
    digest = json.loads(chain_path(services).read_bytes().splitlines()[0])["digest"] if number else GENESIS
    head.write_text(json.dumps(sign_head(services[PlatformKey], number, digest, 1e9, "runner")))
    found = run("verify", "--head", head)
    assert found.exit_code == 0, found.output
    assert f"{head}: {words} it does not cover the records after it" in found.stdout
    head.write_text(run("head").stdout)
    assert "says nothing" not in run("verify", "--head", head).stdout


def test_a_head_is_trusted_by_its_key_only(run: Run, services: AppServices, tmp_path: Path) -> None:
    head = tmp_path / "head.json"
    head.write_text(run("head").stdout)
    values = json.loads(head.read_text())
    (services[Settings].data_dir / KEY_FILE).unlink()
    assert "is signed by the key" in problem(run("verify", "--head", head))
    assert run("verify", "--head", head, "--public-key", values["publicKey"]).exit_code == 0
    head.write_text(json.dumps(values | {"number": 2}))
    assert problem(run("verify", "--head", head)).endswith("its signature does not match its content")
    head.write_text("[]")
    assert "is not a signed head" in problem(run("verify", "--head", head))


def test_an_export_has_all_records_and_is_verified_as_a_file(
    run: Run, services: AppServices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_commands, "AT_ONCE", 2)  # two answers
    exported = tmp_path / "export.jsonl"
    exported.write_bytes(run("export").stdout_bytes)
    assert exported.read_bytes() == chain_path(services).read_bytes()
    assert run("verify", "--file", exported).exit_code == 0
    assert len(run("export", "--subject", "b").stdout.splitlines()) == 1
    assert problem(run("export", "--since", "yesterday"), 2).startswith("since must be Unix time in seconds")


def test_a_host_without_files_gets_an_error_that_names_the_options(
    run: Run, services: AppServices, tmp_path: Path
) -> None:
    found = problem(run("verify", data_dir=tmp_path / "empty"))
    assert found.endswith("has no audit file: name one with --file, or use --redis")
    both = run("verify", "--redis", "--file", services[Settings].data_dir / "x")
    assert both.exit_code == 2
