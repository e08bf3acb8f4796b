"""The HTTP API.

`routes/` holds one file per group of endpoints, `dialects/` one per protocol (parses requests, renders
responses), `schemas/` the shapes of the bodies, which document and check them, `auth/` the API keys and
access rules, and `streaming/` the path from a response's event log to the client's socket.
"""
