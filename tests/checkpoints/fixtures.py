"""Fixtures: the demo model in the file format of each backend, and the translators."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from config.load import load_settings
from config.settings import ROOT
from engines.environments import interpreter
from tests.checkpoints import gguf_file, hugging_face

DEMO_MODEL = ROOT / "models" / "stoker-demo.gguf"
CONVERTER = Path(__file__).with_name("to_ctranslate2.py")


def python_of(backend: str) -> Path:
    """The Python of a backend's environment; `make test-runtimes` installs missing ones."""
    return interpreter(load_settings().runtimes_dir, backend, None)


@pytest.fixture(scope="session")
def demo_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo model as a Hugging Face checkpoint, for vLLM and ExLlamaV3."""
    folder = tmp_path_factory.mktemp("checkpoints") / "stoker-demo"
    hugging_face.write(folder, gguf_file.read(DEMO_MODEL))
    return folder


@pytest.fixture(scope="session")
def demo_ct2(demo_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo model as a CTranslate2 generator. Needs the environment ct2."""
    folder = tmp_path_factory.mktemp("checkpoints") / "stoker-demo-ct2"
    subprocess.run([python_of("ct2"), "-I", CONVERTER, demo_checkpoint, folder], check=True)
    return folder


@pytest.fixture(scope="session")
def demo_translator() -> Path:
    """A CTranslate2 translator with the conventions of NLLB: eng_Latn, deu_Latn and fra_Latn."""
    return ROOT / "models" / "stoker-translator"


@pytest.fixture(scope="session")
def opus_translator() -> Path:
    """A CTranslate2 translator with the conventions of Marian (opus-mt): >>eng<<, >>deu<< and >>fra<<."""
    return Path(__file__).with_name("opus")
