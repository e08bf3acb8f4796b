"""The pages of docs/: their commands exist."""

from __future__ import annotations

import re

import click
import pytest

from config.settings import ROOT
from stoker.cli import cli
from tests.docs.page import PAGES, blocks, code

pytestmark = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)

STOKER = re.compile(r"(?:\.venv/bin/stoker|python -m stoker|^stoker)((?: [^\s`|&;<>]+)*)", re.MULTILINE)


def test_every_command_and_its_options_exist(page):
    text = page.read_text()
    commands = [words for part in (*blocks(text, "sh"), *code(text)) for words in STOKER.findall(part)]
    assert commands or page.name == "api.md"
    for words in map(str.split, commands):
        if not words or words[0] in ("...", "cannot", "COMMAND"):
            continue
        command = cli if words[0].startswith("-") else cli.commands[words[0]]
        if isinstance(command, click.Group) and words[1:] and not words[1].startswith("-"):
            command = command.commands[words[1]]
        assert isinstance(command, click.Command)
        known = {
            name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)
        } | {"--help"}
        assert {word for word in words if word.startswith("--")} <= known, words


def test_every_make_target_exists(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", page.read_text())) <= targets
