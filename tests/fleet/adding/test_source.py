"""The source of a model, as people write it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.adding.errors import InvalidAddition
from fleet.adding.source import Source, parse_source
from fleet.hub_cache import REVISION, is_repository

HERE = {"HF_ENDPOINT": "http://hub.example:8000/mirror"}


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("Qwen/Qwen3-8B-GGUF", Source("Qwen/Qwen3-8B-GGUF", "Qwen/Qwen3-8B-GGUF")),
        ("a/b:q4_k_m", Source("a/b", "a/b", quantization="q4_k_m")),
        ("a/b:latest", Source("a/b", "a/b")),
        ("a/b@v1:Q8_0", Source("a/b@v1", "a/b", "v1", quantization="Q8_0")),
        (" hf://a/b ", Source(repository="a/b")),
        ("hf://a/b@v1/c/d-Q8_0.gguf", Source(None, "a/b", "v1", "c/d-Q8_0.gguf")),
        ("hf://a/b/model.safetensors", Source(repository="a/b")),
        ("hf.co/a/b:Q8_0", Source(repository="a/b", quantization="Q8_0")),
        ("https://huggingface.co/a/b", Source(repository="a/b")),
        ("https://huggingface.co/a/b/tree/main", Source(repository="a/b")),
        (
            "https://huggingface.co/a/b/blob/v1/x%20y.gguf?download=true#z",
            Source(None, "a/b", "v1", "x y.gguf"),
        ),
        ("https://hf.co/a/b/resolve/v1/x.gguf", Source(None, "a/b", "v1", "x.gguf")),
        ("http://hub.example:8000/mirror/a/b", Source(repository="a/b")),
        ("team/x.gguf", Source("team/x.gguf")),
        ("/models/x.gguf", Source("/models/x.gguf")),
        ("./a/./b/", Source("a/b", "a/b")),
        ("folder:Q4_K_M", Source("folder", quantization="Q4_K_M")),
    ],
)
def test_each_form_of_a_source_is_read(text: str, source: Source) -> None:
    assert parse_source(text, HERE) == source


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "x" * 2000,
        "a\nb",
        "..",
        "../x.gguf",
        "a/../b.gguf",
        "~/x.gguf",
        "a/b@../x",
        "hf://",
        "hf://a",
        "hf://a/b/../c.gguf",
        "hf://a/b/c//d.gguf",
        "hf://a/b/pytorch_model.bin",
        "hf://a/b/readme.md",
        "hf://a--b/c",
        "a/b:",
        "a/b:../x",
        "http://huggingface.co/a/b",
        "https://huggingface.co@evil.example/a/b",
        "https://user:secret@huggingface.co/a/b",
        "https://huggingface.co/a",
        "https://huggingface.co/datasets/a/b",
        "https://huggingface.co/a/b/tree/main/folder",
        "https://huggingface.co/a/b/blob/main/%2e%2e/x.gguf",
        "https://huggingface.co/a/b/blob/main/x%00.gguf",
        "http://hub.example/a/b",
        "file:///etc/passwd",
        "s3://bucket/x.gguf",
        "https://[",
        "\u202ea/b",
    ],
)
def test_a_text_that_is_no_source_is_refused_with_one_sentence(text: str) -> None:
    with pytest.raises(InvalidAddition) as refused:
        parse_source(text, HERE)
    assert refused.value.param == "source"
    assert "secret" not in refused.value.message
    assert refused.value.message.isprintable()


PIECES = st.sampled_from(
    [
        *("hf://", "https://huggingface.co/", "hf.co/", "a", "b", "/", "//", ":", "@", "..", "."),
        *("%2e", "%00", "\\", "main", "Q4_K_M", "x.gguf", "resolve/", "blob/", "~", "?x", "#"),
        *("\x00", "\u202e", "-00001-of-00002.gguf"),
    ]
)


@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=9).map("".join)))
def test_whatever_is_written_leads_to_a_repository_or_below_a_folder_or_is_refused(text: str) -> None:
    try:
        source = parse_source(text, {})
    except InvalidAddition as error:
        refused = error.message
    else:
        refused = ""
        check(source)
    assert refused.isprintable()
    assert len(refused) < 300


def check(source: Source) -> None:
    assert source.path or source.repository
    assert source.repository is None or is_repository(source.repository)
    assert REVISION.fullmatch(source.revision)
    for path in filter(None, (source.path, source.file)):
        assert ".." not in path.split("/")
        assert path.isprintable()
    assert source.file is None or (source.file.lower().endswith(".gguf") and not source.file.startswith("/"))
