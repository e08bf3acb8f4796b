"""The plan of an addition and the progress of a download, as people read them."""

from __future__ import annotations

import pytest

from stoker.addition_text import DownloadProgress, fit_sentence, plan_lines, question, size


def fit(verdict="fits", **more):
    return {
        "verdict": verdict,
        "need_mib": 5120,
        "free_mib": 7000,
        "total_mib": 8192,
        "evicts": [],
        "reason": "",
    } | more


def plan(**more):
    return {
        "model": "qwen",
        "source": "hf://Qwen/Qwen-GGUF@abc/q.gguf",
        "files": [{"name": "q.gguf", "bytes": 4_580_000_000}, {"name": "mmproj.gguf", "bytes": 600}],
        "download_bytes": 4_580_000_600,
        "configuration": {
            "backend": "llama_server",
            "pin": True,
            "model_path": "hf://Qwen/Qwen-GGUF@abc/q.gguf",
        },
        "defaults": [
            {"field": "backend", "value": "llama_server", "reason": "a GGUF file"},
            {"field": "llama_server_n_ctx", "value": 8192, "reason": "what the free memory has room for"},
        ],
        "fit": fit(),
    } | more


def test_a_plan_shows_files_settings_with_their_reasons_and_the_fit():
    assert plan_lines(plan()) == [
        "qwen from hf://Qwen/Qwen-GGUF@abc/q.gguf",
        "",
        "file         size",
        "q.gguf       4.58 GB",
        "mmproj.gguf  600 bytes",
        "",
        "setting             value         reason",
        "pin                 true",
        "backend             llama_server  a GGUF file",
        "llama_server_n_ctx  8192          what the free memory has room for",
        "",
        "It fits: it needs 5120 MiB, 7000 of 8192 MiB are free.",
    ]


def test_a_file_of_a_hub_cannot_change_the_terminal():
    lines = plan_lines(plan(files=[{"name": "a\x1b[2Jb.gguf", "bytes": 1}]))
    assert "a[2Jb.gguf  1 bytes" in lines


def test_reasons_are_wrapped_to_the_width_of_a_terminal():
    lines = plan_lines(plan(), 60)
    assert lines[lines.index("backend             llama_server  a GGUF file") + 1 :][:2] == [
        "llama_server_n_ctx  8192          what the free memory has",
        "                                  room for",
    ]
    assert plan_lines(plan(), 40) == plan_lines(plan())


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        (
            fit("fits_with_eviction", evicts=["a"], reason="it needs 5120 MiB; enough are free without a."),
            "It fits if a is unloaded: it needs 5120 MiB; enough are free without a.",
        ),
        (
            fit("fits_with_eviction", evicts=["a", "b"], need_mib=None, free_mib=None),
            "It fits if a, b are unloaded.",
        ),
        (fit("too_large", free_mib=None), "It is too large: it needs 5120 MiB."),
        (
            fit("unknown", need_mib=None, free_mib=None, reason="no worker has reported its memory"),
            "Whether it fits is not known: no worker has reported its memory.",
        ),
    ],
)
def test_the_fit_is_one_sentence_with_its_numbers(verdict, sentence):
    assert fit_sentence(verdict) == sentence


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        ("fits", ("Download 4.58 GB and add it? [Y/n] ", True)),
        ("unknown", ("Download 4.58 GB and add it? [Y/n] ", True)),
        ("fits_with_eviction", ("Download 4.58 GB and add it? [y/N] ", False)),
        ("too_large", ("Download 4.58 GB and add it? [y/N] ", False)),
    ],
)
def test_enter_means_yes_only_where_no_model_has_to_go(verdict, expected):
    assert question(plan(fit=fit(verdict))) == expected


def test_files_that_are_here_are_not_downloaded():
    assert question(plan(download_bytes=0)) == ("Add it? [Y/n] ", True)


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (9_999, "9999 bytes"), (812_000, "0.81 MB"), (10**8, "0.10 GB")]
)
def test_sizes_have_the_units_of_a_download(count, text):
    assert size(count) == text


def operation(share, **more):
    return {"model": "qwen", "kind": "download", "progress": share, "stage": "downloading: 1 of 2 GB"} | more


def test_the_rate_of_a_download_is_that_of_the_last_seconds():
    progress = DownloadProgress(2_000_000_000, is_terminal=True)

    assert progress.line(operation(0.0), 0.0) == "qwen: downloading 0 % (1 of 2 GB)"
    assert progress.line(operation(0.1), 2.0) == "qwen: downloading 10 % (1 of 2 GB), 0.10 GB/s"
    assert progress.line(operation(0.5), 6.0) == "qwen: downloading 50 % (1 of 2 GB), 0.20 GB/s"
    assert progress.line(operation(0.5, stage="", eta_s=300), 12.0) == (
        "qwen: downloading 50 %, about 5 min left"
    )


def test_without_a_terminal_a_download_has_a_line_for_each_tenth():
    progress = DownloadProgress(2_000_000_000, is_terminal=False)

    lines = [progress.line(operation(step / 1000), step / 10) for step in range(1001)]
    assert len(set(lines)) <= 11
