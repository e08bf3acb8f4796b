"""The overview's list of error codes that lead to no request agrees with the API's."""

from __future__ import annotations

import re

from api.http import error_codes
from api.http.errors import CODES
from config.settings import ROOT

SOURCE = ROOT / "ui" / "src" / "lib" / "services" / "recent_metrics.ts"


def test_codes_without_a_link_are_codes_of_the_api_and_of_no_route_for_models() -> None:
    listed = SOURCE.read_text().partition("UNRECORDED: ReadonlySet")[2].partition("]);")[0]
    unrecorded = set(re.findall(r"'(\w+)'", listed))
    assert unrecorded
    assert unrecorded <= CODES.keys()
    of_models = {code for codes in vars(error_codes).values() if isinstance(codes, tuple) for code in codes}
    assert not unrecorded & of_models
