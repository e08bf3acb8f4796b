"""Which test files a run imports: each one with a test that it selects."""

from __future__ import annotations

import pytest

from tests.conftest import MISSING_NAMES
from tests.support.selected_files import may_be_selected, missing_names

DEFAULT = "not engines and not gpu and not hostile and not browser and not clients and not s3"
RUNTIMES = "(engines or contract) and not gpu"
SLOW_FILE = "pytestmark = [pytest.mark.journey, pytest.mark.slow]\n"


def test_each_file_has_the_names_of_the_marks_of_its_tests(request):
    """Else a run by such a mark would leave out its tests."""
    assert request.config.stash[MISSING_NAMES] == set()


@pytest.mark.parametrize(
    ("text", "expression", "slow", "is_imported"),
    [
        ("def test_a(): ...", DEFAULT, "also", True),
        ("@pytest.mark.hostile", DEFAULT, "also", True),  # a further test may have no mark
        ("def test_a(): ...", "hostile", "also", False),
        ("@pytest.mark.hostile", "hostile", "also", True),
        ("from tests.backends.contract import Contract", RUNTIMES, "also", True),
        ("pytestmark = [pytest.mark.engines, pytest.mark.gpu]", RUNTIMES, "also", True),
        ("pytestmark = pytest.mark.gpu", RUNTIMES, "also", False),
        (
            "def test_a(): ...",
            "hostile or journey",
            "also",
            True,
        ),  # a mark without its name
        ("def test_a(): ...", "", "also", True),
        (SLOW_FILE, DEFAULT, "without", False),
        (SLOW_FILE, DEFAULT, "only", True),
        ("@pytest.mark.slow", DEFAULT, "without", True),
        ("@pytest.mark.slow", DEFAULT, "only", True),
        ("def test_a(): ...", DEFAULT, "only", False),
    ],
)
def test_a_file_is_imported_when_it_may_have_a_test_of_the_run(text, expression, slow, is_imported):
    assert may_be_selected(text, expression, slow) == is_imported


def test_a_mark_whose_name_a_file_lacks_is_found():
    assert missing_names("pytestmark = list(MARKS)", {"engines", "timeout"}) == {"engines"}
    assert missing_names("from tests.backends.contract import Contract", {"contract", "rule"}) == set()
