"""The framing of message streams: server-sent events, of which `message_stop` or `error` is the last.

Anthropic's streams have no `data: [DONE]`, and clients that parse each event as JSON fail on it (Anthropic
API reference, "Streaming messages").
"""

from api.http.sse import HEADERS, KEEP_ALIVE, comment, encode

__all__ = ["DONE", "HEADERS", "KEEP_ALIVE", "comment", "encode"]

DONE = b""
