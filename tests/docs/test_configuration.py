"""docs/configuration.md matches the configuration: its examples are valid, its mistakes are refused."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

from backends.stub.engine.script import FLAG_DIRECTIVES, VALUE_DIRECTIVES, directives_of
from config.errors import ConfigError
from config.fields import Section
from config.load import load_settings
from config.schema import SettingsSchema
from config.settings import ROOT
from config.sources import KEY_VARIABLES, NAMED_VARIABLES
from store.scripts import source
from tests.docs.page import PACKAGES, blocks, code, read, rows, section
from tests.docs.test_file_names import PAGES


@pytest.fixture(scope="module")
def page():
    return read("configuration.md")


@pytest.fixture
def load(tmp_path):
    """Load the shipped settings.json with this text as local.json."""

    def load(local: str):
        (tmp_path / "settings.json").write_text((ROOT / "settings.json").read_text())
        (tmp_path / "local.json").write_text(local)
        return load_settings(tmp_path, {})

    return load


@pytest.mark.parametrize("name", ["configuration.md", "operations.md", "tools.md"])
def test_every_example_of_a_local_json_is_accepted(name, load):
    examples = blocks(read(name), "json")
    assert examples
    for example in examples:
        given = json.loads(example)
        settings = load(example)
        assert set(given.get("models", ())) <= set(settings.models)
        assert set(given.get("tenants", ())) <= set(settings.tenants)


def test_every_documented_mistake_has_the_documented_error(page, load):
    shown = [row for row in rows(section(page, "Errors in the configuration")) if row[0].startswith("`")]
    assert len(shown) >= 10
    for local, message in shown:
        with pytest.raises(ConfigError) as caught:
            load(local.strip("`"))
        assert caught.value.problems == (message.strip("`"),)


def test_the_digests_of_the_example_match_its_keys(page, load):
    (example,) = (block for block in blocks(page, "json") if "api_keys_sha256" in block)
    for tenant in load(example).tenants.values():
        for digest in tenant.api_keys_sha256:
            assert any(hashlib.sha256(word.encode()).hexdigest() == digest for word in code(page)), (
                tenant.name
            )


def test_every_variable_that_is_read_is_documented(page):
    named = {word for row in rows(page) for word in code(row[0])}
    text = "".join(path.read_text() for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    read_somewhere = set(re.findall(r'environ(?:\.get)?[\[(]"(\w+)"', text)) | set(
        re.findall(r'envvar="(\w+)"', text)
    )
    # of the system, pip and llama-server
    others = {"LD_LIBRARY_PATH", "PATH", "REQUESTS_CA_BUNDLE", "LLAMA_API_KEY", "TERM"}
    own = read_somewhere - others
    assert own | NAMED_VARIABLES.keys() | KEY_VARIABLES.keys() <= named


def test_every_directive_of_the_stub_is_documented(page):
    explained = {row[0].strip("`").partition("=")[0] for row in rows(section(page, "stub")) if len(row) == 2}
    assert explained - {"directive"} == {*FLAG_DIRECTIVES, *VALUE_DIRECTIVES}


def test_the_example_for_the_stub_contains_directives(page):
    (example,) = (block for block in blocks(page, "sh") if "/stub " in block)
    found, rest = directives_of(re.search(r'"(.*)"', example)[1])
    assert found == {"tokens": 20, "tokens_per_s": 10.0}
    assert not rest


def test_the_number_of_skips_is_the_one_of_the_script(page):
    max_skips = dict(re.findall(r"(\w+) = (\d+)", source(ROOT / "scheduler" / "lua" / "admit.lua")))
    assert {max_skips[name] for name in ("high_background", "normal", "normal_background")} == {"4"}
    assert f"a `low` priority that was skipped {max_skips['low']} times" in re.sub(r"\s+", " ", page)
    assert f"a `normal` one after {max_skips['normal']} times" in re.sub(r"\s+", " ", page)
    assert f"skipped {max_skips['normal']} times, or {max_skips['low']} times (`low`)" in re.sub(
        r"\s+", " ", read("api.md")
    )


def test_every_setting_that_a_page_names_exists():
    sections = {
        name: inner.fields
        for name, field in SettingsSchema().fields.items()
        if isinstance(inner := getattr(field, "schema", None), Section)
    }
    unknown = {
        (page.name, name)
        for page in PAGES
        if page.parent.name != "decisions"  # which may name settings of the past
        for name in code(page.read_text(encoding="utf-8"))
        if (match := re.fullmatch(r"([a-z]+)\.([a-z_]+)", name))
        and match[1] in sections
        and match[2] not in {*sections[match[1]], "conf", "log", "py"}
    }
    assert unknown == set()
