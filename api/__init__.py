"""The HTTP API.

`routes/` holds one file per group of endpoints, `dialects/` one per protocol (parses requests, renders
responses), `schemas/` the shapes of the bodies, which document and check them, `auth/` the API keys and
access rules, and `streaming/` all between a response's event log and the client's socket.
"""
