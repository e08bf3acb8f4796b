"""The backends, one folder each.

A folder holds `options.py` (the declaration: options, capabilities, environment), `adapter.py` (starts
engines) and, unless the backend is remote, `engine/` (the code of its engine processes). `catalogue` and
`registry` find them by name; `shared/` holds code that several backends use.
"""
