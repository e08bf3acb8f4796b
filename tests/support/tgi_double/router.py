"""The double of text-generation-router: the HTTP server, with the paths and forms of TGI 3.3.

They are those of router/src/server.rs; `router_state` has what is behind them.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from chat_state import FINGERPRINT, ChatState, completion_event
from model import TOKEN, rendered
from router_state import CACHE_TOKENS, FAILURES, InferError, Router

STATUS_TEXTS = {200: "OK", 401: "Unauthorized", 404: "Not Found", 413: "Payload Too Large"}
STATUSES = {"overloaded": 429, "validation": 422, "template_error": 422, "tool_error": 422, "generation": 424}


class Connection:
    """One connection of a client."""

    def __init__(self, router: Router, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.router, self.reader, self.writer = router, reader, writer

    async def serve(self) -> None:
        """Answer requests until the client closes the connection."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, path, _ = head[0].split()
                headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
                body = await self.reader.readexactly(int(headers.get("content-length", 0)))
                await self.answer(method, path, headers, body)
        self.writer.close()

    async def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        """Answer one request."""
        router = self.router
        bearer = None if router.key is None else f"bearer {router.key}".lower()
        if method == "GET":
            found = router.open_answers().get(path)
            await self.send(404 if found is None else 200, b"" if found is None else found)
        elif path != "/chat_tokenize" and bearer is not None and headers.get("authorization") != bearer:
            await self.send(401, b"")
        elif len(body) > router.payload:
            await self.send(413, b"Failed to buffer the request body: length limit exceeded")
        else:
            try:
                await self.post(path, json.loads(body))
            except InferError as error:
                answer = {"error": str(error), "error_type": error.kind}
                await self.send(STATUSES.get(error.kind, 500), answer)

    async def post(self, path: str, request: dict[str, Any]) -> None:
        """Answer a POST. Raises `InferError` for one that is refused with a status."""
        if path == "/tokenize":
            await self.send(200, [_token(found) for found in TOKEN.finditer("<s>" + request["inputs"])])
        elif path == "/chat_tokenize":
            prompt = self.prompt(request)
            tokens = [_token(found) for found in TOKEN.finditer(prompt)]
            await self.send(200, {"tokenize_response": tokens, "templated_text": prompt})
        elif path == "/v1/completions":
            await self.stream(self.completion(request))
        else:
            await self.stream(self.chat(request, self.prompt(request)))

    def prompt(self, request: dict[str, Any]) -> str:
        """Render the messages. Raises `InferError` as TGI does: before a stream begins, with a status."""
        prompt = rendered(request["messages"], request.get("tools") or [])
        if "/tgi template" in prompt:
            raise InferError(*FAILURES["template"])
        return prompt

    async def chat(self, request: dict[str, Any], prompt: str) -> Any:
        names = [tool["function"]["name"] for tool in request.get("tools") or ()]
        free = ["no_tool"] if names and request.get("tool_choice") == "auto" else []
        usage = bool((request.get("stream_options") or {}).get("include_usage"))
        for tool in request.get("tools") or ():
            for schema in (tool["function"]["parameters"].get("properties") or {}).values():
                if schema.get("type") == "nonsense":
                    yield _event(InferError("grammar is not valid: nonsense"))
        state = ChatState(self.router.model, "0", tools=bool(names), include_usage=usage)
        try:
            async for token, details in self.router.generate(prompt, request, names + free, special=False):
                for event in state.push(token, details):
                    yield event
                if state.is_no_tool:
                    break
            if state.is_no_tool:
                async for event in self.chat({**request, "tools": []}, rendered(request["messages"], [])):
                    yield event
        except InferError as error:
            yield _event(error)

    async def completion(self, request: dict[str, Any]) -> Any:
        try:
            async for token, details in self.router.generate(request["prompt"], request, [], special=True):
                yield completion_event(self.router.model, token, details)
        except InferError as error:
            yield _event(error)

    async def stream(self, events: Any) -> None:
        """Send events, until the client closes the connection: that ends the generation."""
        self.writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        try:
            async for event in events:
                self.write_chunk(json.dumps(event).encode())
                await self.writer.drain()
                if self.reader.at_eof():
                    raise ConnectionResetError
        finally:
            await events.aclose()
        self.write_chunk(b"[DONE]")
        self.writer.write(b"0\r\n\r\n")

    def write_chunk(self, data: bytes) -> None:
        event = b"data: " + data + b"\n\n"
        self.writer.write(b"%x\r\n%s\r\n" % (len(event), event))

    async def send(self, status: int, body: Any) -> None:
        """Send a whole response: JSON, or bytes as they are."""
        kind = "text/plain" if isinstance(body, bytes | str) else "application/json"
        data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else _json(body)
        head = f"HTTP/1.1 {status} {STATUS_TEXTS.get(status, 'Error')}\r\ncontent-type: {kind}\r\n"
        self.writer.write(f"{head}content-length: {len(data)}\r\n\r\n".encode() + data)
        await self.writer.drain()


def _json(body: Any) -> bytes:
    return json.dumps(body).encode()


def _event(error: InferError) -> dict[str, Any]:
    """The event of an error, whose status is 422 whatever the cause is."""
    return {"error": {"message": str(error), "http_status_code": 422}}


def _token(found: Any) -> dict[str, Any]:
    return {"id": 1, "text": found[0], "start": found.start(), "stop": found.end()}


async def main(arguments: list[str]) -> None:
    """Serve until the launcher's pipe closes."""
    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    router = Router(given, os.environ.get("API_KEY"))
    print(f"INFO text_generation_router_v3: Setting max batch total tokens to {CACHE_TOKENS}", flush=True)
    server = await asyncio.start_server(
        lambda reader, writer: Connection(router, reader, writer).serve(),
        given["--hostname"],
        int(given["--port"]),
        limit=1 << 26,
    )
    async with server:
        print(f"INFO Connected {FINGERPRINT}", flush=True)
        pipe = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(pipe), sys.stdin)
        await pipe.read()
        os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
