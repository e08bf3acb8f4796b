"""Fixtures: the demo model in the form that each runtime wants, and the translators."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from config.load import load_settings
from config.settings import ROOT
from tests.checkpoints import gguf_file, hugging_face
from workers.environments import interpreter

DEMO_MODEL = ROOT / "models" / "stoker-demo.gguf"
CONVERTER = Path(__file__).with_name("to_ctranslate2.py")


def python_of(backend: str) -> Path:
    """The Python that runs a backend's engines here; `make test-runtimes` installs what is missing."""
    return interpreter(load_settings().runtimes_dir, backend, None)


@pytest.fixture(scope="session")
def demo_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo model in the form of Hugging Face: for vLLM and ExLlamaV3."""
    folder = tmp_path_factory.mktemp("checkpoints") / "stoker-demo"
    hugging_face.write(folder, gguf_file.read(DEMO_MODEL))
    return folder


@pytest.fixture(scope="session")
def demo_ct2(demo_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo model as a generator of CTranslate2. Needs the environment ct2."""
    folder = tmp_path_factory.mktemp("checkpoints") / "stoker-demo-ct2"
    subprocess.run([python_of("ct2"), "-I", CONVERTER, demo_checkpoint, folder], check=True)
    return folder


@pytest.fixture(scope="session")
def demo_translator() -> Path:
    """A translator of CTranslate2 in the manner of NLLB: eng_Latn, deu_Latn and fra_Latn."""
    return ROOT / "models" / "stoker-translator"


@pytest.fixture(scope="session")
def opus_translator() -> Path:
    """A translator of CTranslate2 in the manner of Marian (opus-mt): >>eng<<, >>deu<< and >>fra<<."""
    return Path(__file__).with_name("opus")
