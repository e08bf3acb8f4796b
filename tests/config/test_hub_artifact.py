"""Paths of models on a hub."""

from __future__ import annotations

import pytest

from config.hub_artifact import HubArtifact, parse


@pytest.mark.parametrize(
    ("path", "artifact"),
    [
        ("hf://org/name", HubArtifact("org/name")),
        ("hf://org/name@v1.0", HubArtifact("org/name", "v1.0")),
        ("hf://org/na.me-2@main/sub/m.gguf", HubArtifact("org/na.me-2", "main", "sub/m.gguf")),
    ],
)
def test_a_path_on_a_hub_is_read_and_written_again(path: str, artifact: HubArtifact) -> None:
    assert parse(path) == artifact
    assert parse(str(artifact)) == artifact


@pytest.mark.parametrize(
    "path",
    [
        "hf://",
        "hf://name",
        "hf://org/",
        "hf://org/name@",
        "hf://org/name@-x",
        "hf://org/name/../x",
        "hf://../name",
        "hf://org/na me",
        "hf://org/name/a\nb",
        "hf://org//name",
        "hf://org/name@a/../b",
        f"hf://org/{'n' * 200}",
    ],
)
def test_a_malformed_path_is_refused_with_the_right_forms(path: str) -> None:
    with pytest.raises(ValueError, match="hf://org/name@revision"):
        parse(path)


def test_only_backends_that_take_ids_read_a_bare_id() -> None:
    assert parse("org/name", takes_ids=True) == HubArtifact("org/name")
    assert parse("org/name") is None
    assert parse("/org/name", takes_ids=True) is None
    assert parse("../name", takes_ids=True) is None
    assert parse(None) is None


def test_only_a_commit_is_pinned() -> None:
    assert HubArtifact("org/name", "a" * 40).is_pinned
    assert not HubArtifact("org/name", "v1").is_pinned


@pytest.mark.parametrize("path", ["models/missing.gguf", "missing.GGUF", "org/model.safetensors"])
def test_a_file_with_weights_is_no_id_of_a_hub(path: str) -> None:
    assert parse(path, takes_ids=True) is None
    assert parse(f"hf://org/name/{path}") is not None
