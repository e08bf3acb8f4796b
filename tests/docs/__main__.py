"""`python -m tests.docs`: bring the generated tables of docs/ up to date."""

from tests.docs.page import PAGES, fresh
from tests.docs.tables import tables

for page in PAGES:
    before = page.read_text(encoding="utf-8")
    after = fresh(before, tables())
    if after != before:
        page.write_text(after, encoding="utf-8")
        print(f"{page.name}: written anew")
