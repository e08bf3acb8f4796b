"""A small package index on the disk: wheels made with zipfile, and a source archive that uv really builds."""

from __future__ import annotations

import hashlib
import io
import shutil
import tarfile
import zipfile
from pathlib import Path

BACKEND = """
import os, pathlib, zipfile
def build_wheel(wheels, settings=None, metadata=None):
    name = "tinylib-{version}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheels, name), "w") as wheel:
        wheel.writestr("tinylib.py", "BUILT_WITH = " + repr(os.environ.get("CMAKE_ARGS")))
        for file, text in {metadata!r}.items():
            wheel.writestr(file, text)
    return name
"""
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


NO_FILE = "sha256:" + "0" * 64

_hashes: dict[str, list[str]] = {}
"""The hashes of all published files, by `name==version`."""


def published_hashes(pin: str) -> list[str]:
    """The hashes of the files published for a pin; a hash that matches no file if there are none."""
    return _hashes.get(pin.partition(";")[0].strip(), [NO_FILE])


class Index:
    """A folder as PEP 503 describes it; `url` is the address of the index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    @property
    def url(self) -> str:
        return self.folder.as_uri()

    def wheel(self, name: str, version: str, **modules: str) -> None:
        """Publish a wheel with these modules."""
        path = self._place(name, f"{name}-{version}-py3-none-any.whl")
        with zipfile.ZipFile(path, "w") as wheel:
            for module, code in modules.items():
                wheel.writestr(f"{module}.py", code)
            for file, text in metadata(name, version).items():
                wheel.writestr(file, text)
        _record_hash(name, version, path)

    def source(self, version: str) -> None:
        """Publish tinylib as a source archive only; the built module holds its CMAKE_ARGS in BUILT_WITH."""
        code = BACKEND.format(version=version, metadata=metadata("tinylib", version))
        info = f"Metadata-Version: 2.1\nName: tinylib\nVersion: {version}\n"
        path = self._place("tinylib", f"tinylib-{version}.tar.gz")
        with tarfile.open(path, "w:gz") as archive:
            for file, text in {"pyproject.toml": PROJECT, "backend.py": code, "PKG-INFO": info}.items():
                member = tarfile.TarInfo(f"tinylib-{version}/{file}")
                member.size = len(text.encode())
                archive.addfile(member, io.BytesIO(text.encode()))
        _record_hash("tinylib", version, path)

    def move(self, name: str, folder: Path) -> None:
        """Withdraw a package, and move its wheels into a folder."""
        for wheel in (self.folder / name).glob("*.whl"):
            shutil.move(wheel, folder)
        shutil.rmtree(self.folder / name)

    def _place(self, name: str, file: str) -> Path:
        page = self.folder / name / "index.html"
        page.parent.mkdir(exist_ok=True)
        with page.open("a") as links:
            links.write(f'<a href="{file}">{file}</a>\n')
        return page.parent / file


def _record_hash(name: str, version: str, path: Path) -> None:
    _hashes[f"{name}=={version}"] = [f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"]


def metadata(name: str, version: str) -> dict[str, str]:
    """The metadata files of a wheel."""
    info = f"{name}-{version}.dist-info"
    return {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
