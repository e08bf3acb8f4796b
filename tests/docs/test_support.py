"""tests/support/README.md names each file of its folder."""

from __future__ import annotations

import re

from config.settings import ROOT

FOLDER = ROOT / "tests" / "support"


def test_the_readme_of_the_shared_test_parts_names_each_of_them_once():
    lines = (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    named = [match[1] for line in lines if (match := re.match(r"- `([\w.]+)/?`: ", line))]
    present = {path.name for path in FOLDER.iterdir()} - {"README.md", "__init__.py", "__pycache__"}

    assert sorted(named) == sorted(present)
    assert all(line.startswith("- `") for line in lines if line.startswith("-"))
