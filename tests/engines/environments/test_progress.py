"""Progress and failures, from the output of uv."""

from __future__ import annotations

import pytest

from engines.environments.progress import ElapsedProgress, StepProgress, UvProgress, duration, failure_reason
from tests.engines.environments.conftest import RecordedProgress

DOWNLOADS = """\
Using Python 3.11.7 environment at: /srv/runtimes/vllm
Resolved 3 packages in 125ms
Downloading torch (182.9MiB)
Downloading numba (3.8MiB)
 Downloaded numba
 Downloaded torch
"""
BROKEN_BUILD = """\
   Building llama-cpp-python==0.3.36
error: Failed to build `llama-cpp-python==0.3.36`
  cause: The build backend returned an error
  cause: Call to `scikit_build_core.build.build_wheel` failed (exit status: 1)

         [stdout]
         [ 12%] Building CXX object common/arg.cpp.o
         /tmp/x/common/arg.cpp:7:3: error: 'nothing' was not declared in this scope
         ninja: build stopped: subcommand failed.

         [stderr]
         *** CMake build failed
"""
NO_PACKAGE = """\
error: No solution found when resolving dependencies
  cause: Because x was not found in the package registry and you require x==1, we can conclude that your \
requirements are unsatisfiable.
"""
UNREACHED = """\
error: Request failed after 3 retries in 3.2s
  cause: Failed to fetch: {index}/x/
  cause: error sending request for url ({index}/x/)
  cause: client error (Connect)
  cause: {cause}
"""
UNKNOWN_NAME = "failed to lookup address information: Name or service not known"
SLOW = "operation timed out"
PROXY = "Connection refused (os error 111)"
DISTRUSTED = "invalid peer certificate: UnknownIssuer"
HINT = """
hint: Consider enabling use of system TLS certificates with the `--system-certs` command-line flag
"""
MISMATCH = """\
error: Failed to download `x==1`
  cause: Hash mismatch for `x==1`

         Expected:
           sha256:0000000000000000000000000000000000000000000000000000000000000000

         Computed:
           sha256:3033a70a49c95cbcfd8844c8db1ab0a78ab7ca3e64b64ee1d545c1740c94d311
"""


@pytest.fixture
def shown():
    return RecordedProgress()


def follow(shown, tmp_path, total=3):
    return UvProgress(StepProgress(shown, "vllm", 0), total, tmp_path / "packages")


def test_downloads_are_shown_with_their_name_and_size(shown, tmp_path):
    uv = follow(shown, tmp_path)
    for line in DOWNLOADS.splitlines():
        uv.on_line(line)

    assert [status.rpartition(", ")[0] for status in shown.statuses] == [
        "vllm: looking up 3 packages",
        "vllm: collecting 3 packages",
        "vllm: downloading 3 packages (torch), 0 of 183 MiB",
        "vllm: downloading 3 packages (numba), 0 of 187 MiB",
        "vllm: downloading 3 packages (numba), 4 of 187 MiB",
        "vllm: downloading 3 packages (torch), 187 of 187 MiB",
    ]


def test_packages_that_uv_installs_silently_are_counted_on_the_disk(shown, tmp_path):
    packages = tmp_path / "packages"
    (packages / "pip-23.2.dist-info").mkdir(parents=True)
    uv = follow(shown, tmp_path)
    uv.on_line("Downloading numba (3.0MiB)")
    uv.on_line("Prepared 3 packages in 100ms")
    (packages / "numba-0.65.0.dist-info").mkdir()
    uv.on_tick()

    assert "3 MiB" in shown.statuses[0]
    assert shown.lines[0].startswith("vllm: collected 3 packages, 3 MiB, ")
    assert shown.statuses[-1].startswith("vllm: installing, 1 of 3 packages done, ")

    uv.on_line("Installed 3 packages in 10ms")
    assert shown.statuses[-1].startswith("vllm: compiling Python files, ")


def test_a_package_that_uv_builds_is_named(shown, tmp_path):
    follow(shown, tmp_path).on_line("   Building numba==0.65.0")

    assert shown.statuses == ["vllm: building numba==0.65.0, 0 s"]


def test_statuses_are_rare_where_each_stays_visible(shown):
    step = StepProgress(shown, "vllm", every_s=3600)
    for _ in range(100):
        step.status("working")

    assert shown.statuses == ["vllm: working, 0 s"]


def test_a_compiler_without_progress_shows_the_elapsed_time(shown):
    step = StepProgress(shown, "llama_cpp", 0)
    step.started -= 185
    compiler = ElapsedProgress(step, "compiling", "5 to 10")
    compiler.on_line("[1/193] Building CXX object")
    compiler.on_tick()

    assert shown.statuses == ["llama_cpp: compiling, 3 min 05 s so far, takes about 5 to 10 min"]


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (BROKEN_BUILD, "/tmp/x/common/arg.cpp:7:3: error: 'nothing' was not declared in this scope"),  # noqa: S108
        (
            NO_PACKAGE,
            "Because x was not found in the package registry and you require x==1, we can conclude that your "
            "requirements are unsatisfiable.",
        ),
        (MISMATCH, "Hash mismatch for `x==1`: the file is not the one in the lock file"),
        ("Traceback (most recent call last):\nImportError: libcuda.so.1\n", "ImportError: libcuda.so.1"),
        ("", "it printed nothing"),
    ],
)
def test_the_most_useful_line_of_a_failure_is_its_reason(output, reason):
    assert failure_reason(output) == reason


@pytest.mark.parametrize("cause", [UNKNOWN_NAME, SLOW, PROXY, DISTRUSTED])
@pytest.mark.parametrize("hint", ["", HINT])
def test_an_index_that_cannot_be_reached_is_reported_with_the_cause_and_its_address(cause, hint):
    output = UNREACHED.format(index="https://pypi.org/simple", cause=cause) + hint

    assert failure_reason(output) == (
        f"a package index cannot be reached ({cause}): https://pypi.org/simple/x/"
    )


def test_an_index_that_was_reached_after_a_retry_is_no_reason():
    output = "warning: Retrying https://pypi.org/simple/x/: operation timed out\n" + NO_PACKAGE

    assert failure_reason(output).startswith("Because x was not found in the package registry")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (605, "10 min 05 s")]
)
def test_a_duration_is_written_in_seconds_and_minutes(seconds, text):
    assert duration(seconds) == text
