"""The models of a repository to choose from, each with its fit."""

from __future__ import annotations

import json

import pytest

from fleet.adding.errors import InvalidAddition
from fleet.adding.hub_choices import HubChoice, choices_of, read_choices
from fleet.adding.plan import plan_addition
from fleet.errors import HubRefused
from fleet.fleet import Fleet
from tests.fleet.adding.conftest import WithWorker
from tests.fleet.adding.gguf_bytes import gguf
from tests.support.hub_server import HubServer, Repository

COMMIT = "c" * 40


def choices(fleet: Fleet, source: str) -> list[HubChoice]:
    return choices_of(read_choices(source, fleet.workers(), fleet.settings), fleet)


def test_each_quantization_has_its_files_and_its_fit(
    fleet: Fleet, hub: HubServer, with_worker: WithWorker
) -> None:
    with_worker(80_000)
    found = choices(fleet, f"{hub.url}/acme/Tiny-GGUF")
    assert [choice.label for choice in found] == ["Q2_K", "Q4_K_M", "Q8_0"]
    assert found[1].source == f"hf://acme/Tiny-GGUF@{COMMIT}/Tiny-Q4_K_M.gguf"
    assert [file.name for file in found[1].files] == ["Tiny-Q4_K_M.gguf", "mmproj-F16.gguf"]
    needs = [choice.fit.need_mib or 0 for choice in found]
    assert needs == sorted(needs)
    assert needs[2] - needs[0] == 3
    assert {choice.fit.verdict for choice in found} == {"fits"}
    assert json.dumps([choice.to_dict() for choice in found])
    assert plan_addition(fleet, found[1].source).fit.need_mib == needs[1]


def test_only_one_header_of_many_models_is_read(fleet: Fleet, hub: HubServer) -> None:
    files = {f"sub/m{number}-Q{number % 8}_0.gguf": gguf(mib=1) for number in range(12)}
    hub.repositories["acme/many"] = Repository(files)
    assert len(choices(fleet, "acme/many")) == 12
    assert len(hub.sent) == 1


def test_a_repository_in_parts_has_one_choice_for_all_of_them(fleet: Fleet, hub: HubServer) -> None:
    parts = {f"Q4_K_M/m-0000{part}-of-00003.gguf": gguf() for part in (1, 2, 3)}
    hub.repositories["acme/parts"] = Repository({**parts, "m-Q2_K-00001-of-00002.gguf": gguf()})
    (choice,) = choices(fleet, "acme/parts")
    assert choice.label == "Q4_K_M"
    assert [file.name for file in choice.files] == list(parts)


@pytest.mark.parametrize(
    ("source", "error"),
    [("/models/x.gguf", InvalidAddition), ("", InvalidAddition), ("acme/absent", HubRefused)],
)
@pytest.mark.usefixtures("hub")
def test_a_source_that_is_no_repository_is_refused(fleet: Fleet, source: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        choices(fleet, source)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"size": -1}, "impossible size"),
        ({"size": 2**60}, "impossible size"),
        ({"rfilename": "../../x.gguf"}, "not a plain name"),
        ({"rfilename": "x" * 5000}, "not a plain name"),
        ({"blobId": "../x"}, "invalid digest"),
    ],
)
def test_a_hub_that_describes_files_falsely_is_refused(
    fleet: Fleet, hub: HubServer, changes: dict[str, object], words: str
) -> None:
    hub.repositories["acme/small"] = Repository({"x.gguf": b"GGUF"})
    hub.changes = changes
    with pytest.raises(HubRefused, match=words):
        choices(fleet, "acme/small")


def test_a_size_that_is_false_is_shown_and_costs_no_space(
    fleet: Fleet, hub: HubServer, with_worker: WithWorker
) -> None:
    with_worker(80_000)
    hub.changes = {"size": 2**42, "lfs": None}
    found = choices(fleet, "acme/Tiny-GGUF")
    assert {choice.fit.verdict for choice in found} == {"fits"}, "the header has the sizes of the weights"
    assert found[0].to_dict()["bytes"] == 2 * 2**42


def test_a_repository_of_thousands_of_files_is_refused(fleet: Fleet, hub: HubServer) -> None:
    hub.repositories["acme/huge"] = Repository({f"{number}.gguf": b"" for number in range(2001)})
    with pytest.raises(HubRefused, match="2001 files, more than 2000"):
        choices(fleet, "acme/huge")
    parts = {f"m-Q4_0-{number:05}-of-01000.gguf": b"GGUF" for number in range(1, 1001)}
    hub.repositories["acme/parts"] = Repository({**parts, "mmproj-F16.gguf": b"GGUF"})
    with pytest.raises(HubRefused, match="too many files with weights"):
        choices(fleet, "acme/parts")
