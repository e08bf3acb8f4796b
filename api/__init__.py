"""The HTTP front: what does the client want, and how do we answer?

`routes/` holds one file per endpoint family, `dialects/` one per protocol (parse what was asked, render what
was said), `schemas/` the bodies as OpenAPI describes and the intake checks them.
"""
