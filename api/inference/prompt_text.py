"""What the history of requests keeps of a prompt, for tenants that allow it (`keep_texts`)."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from api.access.caller import Caller
from api.inference.dialects.attachments import PendingDocument
from api.inference.dialects.base import ParsedRequest
from generation.generation import AudioPart, ContentPart, TextPart

MAX_BYTES = 16 * 1024
"""UTF-8 bytes of the text that is kept: the end of a longer prompt."""


def keeps_texts(caller: Caller, parsed: ParsedRequest, *, stores: object, in_batch: bool) -> bool:
    """Whether the texts of a request are kept, with its answer. `stores`: the body's `store`.

    They are not where the client asks for no storage, nor where it keeps and deletes them itself, in a
    conversation or in the files of a batch; nor of a request without an answer in words.
    """
    generation = parsed.generation
    is_text = not (generation.computes_nothing or generation.embedding or generation.media)
    is_elsewhere = in_batch or parsed.conversation_id is not None
    return caller.tenant.keep_texts and stores is not False and is_text and not is_elsewhere


def prompt_text(parsed: ParsedRequest) -> bytes:
    """The JSON of a prompt: `text`, and whether its beginning `is_cut`.

    An image, a recording and a document whose text is read later are replaced by their type and size.
    """
    pieces: list[str] = []
    size = 0
    for piece in _from_the_end(parsed):
        pieces.append(piece[-MAX_BYTES - 1 :])  # so that a longer one is cut below
        size += len(pieces[-1])
        if size > MAX_BYTES:
            break
    whole = "".join(reversed(pieces)).encode(errors="replace")
    text = whole[-MAX_BYTES:].decode(errors="ignore")
    return orjson.dumps({"text": text, "is_cut": len(whole) > MAX_BYTES})


def _from_the_end(parsed: ParsedRequest) -> Iterator[str]:
    """The pieces of the prompt's text, the last one first."""
    generation = parsed.generation
    if generation.prompt_tokens:
        yield f"[{len(generation.prompt_tokens)} tokens]"
    yield generation.prompt or ""
    documents = {id(one.part): one for one in parsed.documents}
    last = True
    for message in reversed(generation.messages):
        if not last:
            yield "\n"
        for place, part in enumerate(reversed(message.content)):
            if place > 0:
                yield "\n"
            yield _shown(part, documents.get(id(part)))
        yield f"{message.role}: "
        last = False


def _shown(part: ContentPart, document: PendingDocument | None) -> str:
    if isinstance(part, TextPart):
        if document is None:
            return part.text
        if document.file_id is not None:
            return f"[stored file: {part.text}]"
        return f"[document: {part.text}, {len(document.data)} bytes]"
    if isinstance(part, AudioPart):
        return f"[audio/{part.format}: {_decoded_size(part.data)} bytes]"
    kind, _, data = part.url.removeprefix("data:").partition(";base64,")
    return f"[{kind[:64]}: {_decoded_size(data)} bytes]"


def _decoded_size(base64: str) -> int:
    return len(base64) * 3 // 4
