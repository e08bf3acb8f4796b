"""A small index of packages, on the disk: wheels made with zipfile, and one source that is really built."""

from __future__ import annotations

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


class Index:
    """A folder as PEP 503 has it; `url` is what pip is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    @property
    def url(self) -> str:
        return self.folder.as_uri()

    def wheel(self, name: str, version: str, **modules: str) -> None:
        """Publish a wheel with these modules."""
        with zipfile.ZipFile(self._place(name, f"{name}-{version}-py3-none-any.whl"), "w") as wheel:
            for module, code in modules.items():
                wheel.writestr(f"{module}.py", code)
            for file, text in metadata(name, version).items():
                wheel.writestr(file, text)

    def source(self, version: str) -> None:
        """Publish tinylib as a source only; what it is built to knows its CMAKE_ARGS."""
        code = BACKEND.format(version=version, metadata=metadata("tinylib", version))
        info = f"Metadata-Version: 2.1\nName: tinylib\nVersion: {version}\n"
        with tarfile.open(self._place("tinylib", f"tinylib-{version}.tar.gz"), "w:gz") as archive:
            for file, text in {"pyproject.toml": PROJECT, "backend.py": code, "PKG-INFO": info}.items():
                member = tarfile.TarInfo(f"tinylib-{version}/{file}")
                member.size = len(text.encode())
                archive.addfile(member, io.BytesIO(text.encode()))

    def move(self, name: str, folder: Path) -> None:
        """Publish it no longer; its wheels go into a folder."""
        for wheel in (self.folder / name).glob("*.whl"):
            shutil.move(wheel, folder)
        shutil.rmtree(self.folder / name)

    def _place(self, name: str, file: str) -> Path:
        page = self.folder / name / "index.html"
        page.parent.mkdir(exist_ok=True)
        with page.open("a") as links:
            links.write(f'<a href="{file}">{file}</a>\n')
        return page.parent / file


def metadata(name: str, version: str) -> dict[str, str]:
    """What makes a wheel of some modules, besides them."""
    info = f"{name}-{version}.dist-info"
    return {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
