"""What pip says, told as progress."""

from __future__ import annotations

import pytest

from tests.workers.environments.conftest import Heard
from workers.environments.pip_progress import Pip, Story, Ticking, duration, reason

COLLECTING = """\
Looking in links: /opt/wheels
Processing /opt/wheels/torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl
Collecting numba==0.65.0
  Obtaining dependency information for numba==0.65.0 from https://index/numba.whl.metadata
  Downloading numba-0.65.0-cp311-cp311-manylinux2014_x86_64.whl.metadata (2.9 kB)
Requirement already satisfied: wheel==1.0 in ./lib/python3.11/site-packages (1.0)
Downloading numba-0.65.0-cp311-cp311-manylinux2014_x86_64.whl (3.8 MB)
"""
BROKEN_BUILD = """\
  error: subprocess-exited-with-error
      [ 12%] Building CXX object common/arg.cpp.o
      /tmp/x/common/arg.cpp:7:3: error: 'nothing' was not declared in this scope
      ninja: build stopped: subcommand failed.
      *** CMake build failed
  ERROR: Failed building wheel for llama-cpp-python
ERROR: Failed to build one or more wheels
"""
UNREACHED = """\
WARNING: Retrying (Retry(total=1)) after connection broken by 'NewConnectionError('<Connection object at \
0x7f79>: Failed to establish a new connection: [Errno 111] Connection refused')': /simple/x/
WARNING: Retrying (Retry(total=0)) after connection broken by '{error}': /simple/x/
ERROR: Could not find a version that satisfies the requirement x==1 (from versions: none)
ERROR: No matching distribution found for x==1
"""
UNKNOWN_NAME = "NewConnectionError('<Connection object at 0x7f1>: [Errno -2] Name or service not known')"
SLOW = "ConnectTimeoutError(<Connection object at 0x7f1>, 'Connection to pypi.org timed out. (timeout=15)')"
PROXY = "ProxyError('Cannot connect to proxy.', NewConnectionError('<Connection object at 0x7>: no route'))"
DISTRUSTED = """\
Could not fetch URL https://pypi.org/simple/x/: There was a problem confirming the ssl certificate: \
HTTPSConnectionPool(host='pypi.org', port=443): Max retries exceeded with url: /simple/x/ (Caused by \
SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate'))) - skipping
ERROR: No matching distribution found for x==1
"""


@pytest.fixture
def heard():
    return Heard()


def follow(heard, tmp_path, total=3):
    return Pip(Story(heard, "vllm", 0), total, tmp_path / "scratch", tmp_path / "packages")


def test_each_package_is_counted_once_whatever_pip_does_with_it(heard, tmp_path):
    pip = follow(heard, tmp_path)
    for line in COLLECTING.splitlines():
        pip.hear(line)

    assert [status.rpartition(", ")[0] for status in heard.statuses] == [
        "vllm: asking for packages, 0 MiB",
        "vllm: collecting 1 of 3 packages (torch), 0 MiB",
        "vllm: collecting 2 of 3 packages (numba), 0 MiB",
        "vllm: collecting 2 of 3 packages (numba), 0 MiB",
        "vllm: collecting 2 of 3 packages (numba), 0 MiB",
        "vllm: collecting 3 of 3 packages (wheel), 0 MiB",
        "vllm: downloading 1 of 3 packages (numba), 0 MiB",
    ]


def test_what_pip_downloads_and_installs_silently_is_seen_on_the_disk(heard, tmp_path):
    scratch, packages = tmp_path / "scratch", tmp_path / "packages"
    for folder in (scratch / "unpack", packages / "pip-23.2.dist-info"):
        folder.mkdir(parents=True)
    pip = follow(heard, tmp_path)
    (scratch / "unpack" / "numba.whl").write_bytes(bytes(3 << 20))
    pip.hear("Collecting numba==0.65.0")
    pip.hear("Installing collected packages: numba")
    (packages / "numba-0.65.0.dist-info").mkdir()
    pip.tick()

    assert "3 MiB" in heard.statuses[0]
    assert heard.lines[0].startswith("vllm: collected 3 packages, 3 MiB, ")
    assert heard.statuses[-1].startswith("vllm: installing, 1 of 3 packages done, ")


def test_where_lines_stay_there_are_few_of_them(heard):
    story = Story(heard, "vllm", every_s=3600)
    for _ in range(100):
        story.status("working")

    assert heard.statuses == ["vllm: working, 0 s"]


def test_a_compiler_says_nothing_so_the_clock_does(heard):
    story = Story(heard, "llama_cpp", 0)
    story.began -= 185
    ticking = Ticking(story, "compiling", "5 to 10")
    ticking.hear("[1/193] Building CXX object")
    ticking.tick()

    assert heard.statuses == ["llama_cpp: compiling, 3 min 05 s so far, takes about 5 to 10 min"]


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (BROKEN_BUILD, "/tmp/x/common/arg.cpp:7:3: error: 'nothing' was not declared in this scope"),  # noqa: S108
        (
            "ERROR: one\nERROR: No matching distribution found for x==1\n\n",
            "No matching distribution found for x==1",
        ),
        ("Traceback (most recent call last):\nImportError: libcuda.so.1\n", "ImportError: libcuda.so.1"),
        ("", "it said nothing"),
    ],
)
def test_of_all_that_was_said_the_useful_line_is_told(log, told):
    assert reason(log) == told


@pytest.mark.parametrize(
    ("log", "why"),
    [
        (UNREACHED.format(error=UNKNOWN_NAME), "[Errno -2] Name or service not known"),
        (UNREACHED.format(error=SLOW), "Connection to pypi.org timed out. (timeout=15)"),
        (UNREACHED.format(error=PROXY), "no route"),
        (DISTRUSTED, "[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate"),
    ],
)
def test_an_index_that_cannot_be_reached_is_not_taken_for_one_without_the_package(log, why):
    """pip names the package that it did not find, as if another version would help."""
    assert reason(log) == (
        f"a package index cannot be reached ({why}), so: No matching distribution found for x==1"
    )


def test_an_index_that_was_reached_in_the_end_is_no_reason():
    log = UNREACHED.format(error=SLOW) + "ERROR: Failed building wheel for x\n"
    assert reason(log) == "Failed building wheel for x"


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (605, "10 min 05 s")]
)
def test_durations_read_well(seconds, told):
    assert duration(seconds) == told
