"""`python -m tests.docs`: updates the generated tables of docs/."""

from tests.docs.page import PAGES, with_fresh_tables
from tests.docs.tables import tables

for page in PAGES:
    before = page.read_text(encoding="utf-8")
    after = with_fresh_tables(before, tables())
    if after != before:
        page.write_text(after, encoding="utf-8")
        print(f"{page.name}: updated")
