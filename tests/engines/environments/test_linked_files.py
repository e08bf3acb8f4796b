"""Identical files of an environment are stored once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from engines.environments.install import install
from engines.environments.linked_files import LEAST_BYTES, link_identical_files
from tests.engines.environments.conftest import Harness

CONTENT = os.urandom(2 * LEAST_BYTES)


def written(path: Path, content: bytes = CONTENT, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    return path


def stored_bytes(folder: Path) -> int:
    """The size of all files below a folder, each counted once however many names it has."""
    sizes = {path.lstat().st_ino: path.lstat().st_size for path in folder.rglob("*") if path.is_file()}
    return sum(sizes.values())


def test_identical_files_are_one_file_with_all_their_names(tmp_path: Path) -> None:
    names = ["lib/libx.so", "lib/libx.so.0", "lib/libx.so.0.5.0", "x/lib/libx.so"]
    paths = [written(tmp_path / name) for name in names]
    assert link_identical_files(tmp_path) == 3 * len(CONTENT)
    assert len({path.stat().st_ino for path in paths}) == 1
    assert all(path.read_bytes() == CONTENT for path in paths)
    assert sorted(path.name for path in (tmp_path / "lib").iterdir()) == [
        "libx.so",
        "libx.so.0",
        "libx.so.0.5.0",
    ]
    assert link_identical_files(tmp_path) == 0


def test_files_that_differ_are_not_linked(tmp_path: Path) -> None:
    first = written(tmp_path / "first")
    written(tmp_path / "changed", CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]))
    written(tmp_path / "longer", CONTENT + b"0")
    written(tmp_path / "executable", mode=0o755)
    for name in ("small", "small too"):
        written(tmp_path / name, b"small")
    (tmp_path / "symbolic").symlink_to("first")
    assert link_identical_files(tmp_path) == 0
    assert all(path.lstat().st_nlink == 1 for path in tmp_path.iterdir())
    assert (tmp_path / "symbolic").is_symlink()
    assert (tmp_path / "symbolic").samefile(first)


def test_a_file_that_is_linked_from_elsewhere_keeps_its_content_there(tmp_path: Path) -> None:
    cached = written(tmp_path / "cache" / "libx.so")
    written(tmp_path / "packages" / "a.so")
    os.link(cached, tmp_path / "packages" / "b.so")
    assert link_identical_files(tmp_path / "packages") == len(CONTENT)
    assert cached.read_bytes() == CONTENT
    assert cached.stat().st_nlink == 1


@pytest.mark.skipif(sys.platform != "linux", reason="compiles a library for Linux")
def test_an_installed_wheel_with_a_library_under_several_names_stores_it_once(harness: Harness) -> None:
    library = harness.runtimes.parent / "libx.so"
    compiler = shutil.which("cc")
    assert compiler is not None
    source = "int answer(void) { return 42; } char filler[400000] = {1};"
    argv = [compiler, "-shared", "-fPIC", "-x", "c", "-o", str(library), "-"]
    subprocess.run(argv, input=source, text=True, check=True)
    code = (
        "import ctypes, pathlib\n"
        "libraries = pathlib.Path(__file__).parent.glob('**/libx.so*')\n"
        "loaded = [ctypes.CDLL(str(path)).answer() for path in libraries]\n"
    )
    harness.index.wheel("tinylib", "2.0", tinylib=code)
    environment = harness.tiny("tinylib==2.0", compiled="tinylib")
    request = harness.request(environment)
    request.wheels.mkdir(parents=True)
    (wheel,) = (harness.index.folder / "tinylib").glob("*.whl")
    with zipfile.ZipFile(wheel, "a") as archive:
        for name in ("lib/libx.so", "lib/libx.so.0", "tiny/lib/libx.so", "tiny/lib/libx.so.0"):
            archive.write(library, name)
    harness.index.move("tinylib", request.wheels)
    install(request)
    assert harness.python("import tinylib; print(tinylib.loaded)") == "[42, 42, 42, 42]"
    (packages,) = harness.folder.glob("lib/python*/site-packages")
    size = library.stat().st_size
    assert size <= stored_bytes(packages) < 2 * size
    libraries = list(packages.rglob("libx.so*"))
    assert {path.stat().st_nlink for path in libraries} == {len(libraries)} == {4}, "also linked from a cache"
    assert len(list(request.runtimes.rglob("tinylib-*.whl"))) == 1
