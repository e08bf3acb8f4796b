"""The client APIs: one module per protocol (`responses`, `chat`), each with pure functions only.

`parse` turns a validated body into the common request form (`generation.generation.Generation`) and the echo:
the request fields that the response repeats. `response_object` and `stream_renderer` turn the echo and an
event log into one JSON object or into frames of a stream. The same log always gives the same output. Both are
built on `output.ResponseOutput`.
"""
