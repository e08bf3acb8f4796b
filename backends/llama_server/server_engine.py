"""A loaded llama-server as an engine: the slot of each request, prompts that Stoker renders, flushes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from backends.base import GenerationError, SavedSequence, Sink, StateChoice
from backends.llama_server.answer_grammars import is_constrained
from backends.llama_server.long_words import check_words
from backends.llama_server.native_requests import (
    HEAD_TOKENS,
    NativeParser,
    check_tokens,
    extra_room,
    is_native,
    native_path,
)
from backends.llama_server.preparation_watch import watch_preparation
from backends.llama_server.slots import Slots
from backends.llama_server.template_trial import TEMPLATE_PATH
from backends.llama_server.text_tasks import MAX_ANSWER_BYTES, TOKENIZE_PATH, task_request, task_result
from backends.llama_server.vocabulary import UNKNOWN
from backends.shared.answer_reader import AnswerReader
from backends.shared.chat_stream import ChatParser
from backends.shared.engine.infill import UNSUPPORTED_SUFFIX, InfillMarkers, find_infill_markers
from backends.shared.engine.syntax import Syntax
from backends.shared.http_engine import (
    LONGEST_BODY,
    HttpEngine,
    RunningRequest,
    ServerClient,
    ServerProtocol,
    malformed_answer,
)
from backends.shared.preparation import BYTES_PER_S, Preparations, preparation_bytes
from engines.engine_process.process import EngineProcess
from fleet.flush import FlushCount
from generation.generation import Generation, Infill, Message, TextTask
from generation.prompt_size import least_prompt_bytes
from http_client.client import HttpError
from streams.events import Delta, TextDelta

SLOTS_PATH = "/slots"
UNREADABLE = "llama-server cannot read this state into its cache"
UNWRITTEN = "the state could not be written to the disk"
UNSUPPORTED = "this llama-server does not save such a state"
ERASE_TIMEOUT_S = 10.0
ENDLESS_PREPARATION = "the model's chat template does not finish these messages in time"
CONTROL_PATH = "/v1/chat/completions/control"
COUNT_PATH = "/v1/chat/completions/input_tokens"
UNSIZED_CACHE = "llama-server does not report the size of its cache"
CANNOT_ERASE = "this llama-server cannot erase its slots; no later request can reach what was flushed"

log = logging.getLogger(__name__)


class LlamaServerEngine(HttpEngine):
    """Fulfils `Engine`. Chooses the slot of each request (`backends.llama_server.slots`).

    It is made with the slots of the server. If the adapter lowers `slots`, the others are spare: the server
    has them to keep more prompts.
    """

    caches_prompts = True
    """Whether a slot continues the prompt of its last request."""

    syntax = Syntax()
    """The syntax of the model's answers."""

    preparation_limit_s = 30.0
    """How long the server may take to render and tokenize a small prompt, on a busy machine."""

    state_folder: Path | None = None
    state_identity: Mapping[str, str] = {}

    vocabulary = UNKNOWN
    """What is known of the model's tokens."""

    def __init__(
        self,
        process: EngineProcess,
        client: ServerClient,
        protocol: ServerProtocol,
        slots: int,
        context: int,
    ) -> None:
        super().__init__(process, client, protocol, slots, context)
        self._slots = Slots(slots, self._erase)
        self._preparations = Preparations()
        self._infill: tuple[InfillMarkers | None] | None = None  # None: the server was not asked yet

    def _new(self, id: str, generation: Generation, sink: Sink) -> RunningRequest:
        running = super()._new(id, generation, sink)
        if generation.prompt is None and is_constrained(generation, self.syntax):
            running.reader = AnswerReader(
                sink.delta,
                self.syntax,
                tools=generation.tool_choice != "none" and bool(generation.tools),
                single_call=not generation.parallel_tool_calls,
                json_text=(generation.output_format or generation.answer_grammar) is not None,
            )
        return running

    def end_reasoning(self, id: str) -> None:
        """End the reasoning of a generation; unknown ids are ignored, and one that has not begun."""
        running = self._running.get(id)
        if running is not None and running.parser is not None and running.parser.answer_id is not None:
            task = asyncio.get_running_loop().create_task(self._end_reasoning(running.parser.answer_id))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _end_reasoning(self, answer_id: str) -> None:
        body = orjson.dumps({"id": answer_id, "action": "reasoning_end"})
        try:
            async with self._client.request(
                "POST", CONTROL_PATH, body, read_timeout_s=ERASE_TIMEOUT_S
            ) as response:
                if response.status != 200:
                    log.warning("llama-server did not end a reasoning: status %d", response.status)
        except HttpError as error:
            log.warning("llama-server did not end a reasoning: %s", error)

    def _parser_class(self, generation: Generation) -> type[ChatParser]:
        return NativeParser if is_native(generation) else ChatParser

    def _path(self, generation: Generation) -> str:
        return native_path(generation) if is_native(generation) else super()._path(generation)

    async def flush(self, kept: Collection[str]) -> FlushCount:
        """Erase the slots that other namespaces have used. An entry is a slot with tokens."""
        erased = await self._slots.flush(kept)
        return FlushCount(erased, None, CANNOT_ERASE if erased is None else UNSIZED_CACHE)

    async def count_tokens(self, generation: Generation) -> int:
        """Count the tokens of the rendered prompt. Raises `GenerationError` and `HttpError`."""
        self._check_size(generation)
        async with self._prepared(generation):
            return await self._count(generation)

    async def _text_result(self, generation: Generation, task: TextTask) -> Iterable[Delta]:
        """Let the server do a text task. Raises `GenerationError` and `HttpError`."""
        async with self._prepared(generation):
            if task.kind != "template":
                path, body = task_request(task, self.vocabulary)
            else:
                self._check_size(generation)
                rendered = await self._rendered(generation)
                if rendered.prompt is not None:
                    return [TextDelta(rendered.prompt)]
                path, body = TEMPLATE_PATH, self._protocol.body(generation)
            answer = await self._post_bytes(path, body, generation, limit=MAX_ANSWER_BYTES)
        return task_result(task.kind, answer)

    def _check_size(self, generation: Generation) -> None:
        """Raise `GenerationError` for a prompt that cannot fit, or that the server cannot tokenize, or with a
        token that the model does not have.

        Rendering and tokenizing a large prompt costs much.
        """
        if generation.prompt_tokens:
            check_tokens(generation, self.vocabulary.size)
            if len(generation.prompt_tokens) >= self.context:
                sentence = (
                    f"the prompt has at least {len(generation.prompt_tokens)} tokens; {self.context - 1} fit"
                )
                raise GenerationError("context_length_exceeded", sentence)
        if self.vocabulary.longest is not None:
            least = least_prompt_bytes(generation) // self.vocabulary.longest
            if least >= self.context:
                sentence = f"the prompt has at least {least} tokens; {self.context - 1} fit"
                raise GenerationError("context_length_exceeded", sentence)
        if self.vocabulary.splits_words:
            check_words(generation)

    def _prepared(self, generation: Generation) -> AbstractAsyncContextManager[Callable[[], None]]:
        owner = generation.cache_owner
        return self._preparations.hold("" if owner is None else owner.tenant, preparation_bytes(generation))

    async def _count(self, generation: Generation) -> int:
        generation = await self._rendered(generation)
        body = self._protocol.body(generation)
        try:
            if generation.prompt is not None:
                return await self._count_prompt(generation)
            return int((await self._post_json(COUNT_PATH, body, generation))["input_tokens"])
        except (LookupError, TypeError, ValueError) as error:
            raise malformed_answer() from error

    async def _count_prompt(self, generation: Generation) -> int:
        """The tokens of a prompt: those that it has, and those of its texts."""
        parts = generation.prompt_tokens or (generation.prompt or "",)
        counted = sum(isinstance(part, int) for part in parts)
        for number, part in enumerate(parts):
            if isinstance(part, str):
                request = {"content": part, "add_special": number == 0, "parse_special": True}
                answer = await self._post_json(TOKENIZE_PATH, orjson.dumps(request), generation)
                counted += len(answer["tokens"])
        return counted

    # ---- fulfils `KeepsStates`

    async def save_state(self, choice: StateChoice, name: str) -> SavedSequence:
        """Let the server write a slot to a file; the note is the prompt by which the slot is found again."""
        assert self.state_folder is not None  # noqa: S101 - the worker asks no other engine
        async with self._slots.hold(choice) as slot:
            tokens, written = await self._act(slot.id, "save", name, "n_saved", "n_written")
            path = self.state_folder / name
            if not path.exists() or not 0 < written == path.stat().st_size:  # it answers 200 all the same
                raise GenerationError("state_disk_full", UNWRITTEN)
            return SavedSequence(tokens, slot.prompt)

    async def restore_state(self, choice: StateChoice, name: str, note: bytes) -> int:
        """Let it read a slot from a file."""
        async with self._slots.replace(choice, note) as slot:
            (tokens,) = await self._act(slot.id, "restore", name, "n_restored")
            return tokens

    async def erase_state(self, choice: StateChoice) -> int:
        """Let it erase slots."""
        tokens = await self._slots.erase(choice)
        if tokens is None:
            raise GenerationError("engine_error", "llama-server did not erase the slot")
        return tokens

    async def _act(self, slot: int, action: str, name: str, *fields: str) -> list[int]:
        """Call the server's route of a slot. Returns numbers of its answer. Raises `EngineError`."""
        path, body = f"{SLOTS_PATH}/{slot}?action={action}", orjson.dumps({"filename": name})
        try:
            async with self._client.request("POST", path, body, read_timeout_s=None) as response:
                answer = await response.read(LONGEST_BODY)
        except HttpError as error:
            raise await self._lost() from error
        if response.status != 200:
            log.warning("llama-server did not %s a slot: %d, %.200r", action, response.status, answer)
            if response.status == 501:
                raise GenerationError("not_supported", UNSUPPORTED)
            if action == "restore":
                raise GenerationError("state_unusable", UNREADABLE)
            raise GenerationError("state_disk_full", UNWRITTEN)
        try:
            found = orjson.loads(answer)
            return [int(found[field]) for field in fields]
        except (orjson.JSONDecodeError, LookupError, TypeError, ValueError) as error:
            raise malformed_answer() from error

    async def _erase(self, slot: int) -> int | None:
        """Erase the tokens of a slot, which waits for the end of its request. None if the server refuses."""
        path = f"/slots/{slot}?action=erase"
        try:
            async with self._client.request("POST", path, b"{}", read_timeout_s=ERASE_TIMEOUT_S) as response:
                body = await response.read(LONGEST_BODY)
                if response.status == 200:
                    return int(orjson.loads(body)["n_erased"])
            log.warning("llama-server did not erase a slot: status %d, %.200r", response.status, body)
        except (HttpError, orjson.JSONDecodeError, LookupError, TypeError, ValueError) as error:
            log.warning("llama-server did not erase a slot: %s", error)
        return None

    async def _is_idle(self, slot: int) -> bool:
        """Whether the server works on nothing in a slot; false if it does not answer."""
        with suppress(HttpError, orjson.JSONDecodeError, LookupError, TypeError):
            async with self._client.request("GET", SLOTS_PATH, read_timeout_s=ERASE_TIMEOUT_S) as response:
                slots = orjson.loads(await response.read(LONGEST_BODY))
            return any(one["id"] == slot and one["is_processing"] is False for one in slots)
        return False

    async def _rendered(self, generation: Generation) -> Generation:
        """The generation with a prompt: of a text with a gap, or of a last message that the answer continues.

        The server's own continuation puts an empty block of reasoning before the text. With tools, images
        or recordings it is used even so: no answer to a prompt has calls, and no template renders media here.
        """
        if generation.infill is not None:  # the server makes the prompt
            return await self._with_fitting_files(generation, generation.infill)
        if generation.suffix is not None:
            return await self._with_gap(generation, generation.suffix)
        last = generation.messages[-1] if generation.continue_last else None
        if last is None or generation.tools or any(map(_has_media, generation.messages)):
            return generation
        before = replace(generation, messages=generation.messages[:-1], continue_last=False)
        made = await self._post_json(TEMPLATE_PATH, self._protocol.body(before), generation)
        try:
            text = self.vocabulary.literal_text.marked_text(last.text)
            prompt = self.syntax.continued(str(made["prompt"]), text)
        except (LookupError, TypeError) as error:
            raise malformed_answer() from error
        plain: dict[str, Any] = {"messages": (), "continue_last": False, "thinking": "default"}
        return replace(generation, prompt=prompt, thinking_budget=None, reasoning_effort=None, **plain)

    async def _with_fitting_files(self, generation: Generation, gap: Infill) -> Generation:
        """The generation with the last files of a gap's prompt that fit. Raises `GenerationError`."""
        room = extra_room(generation, self.context)
        if sum(HEAD_TOKENS + len(f"{name}{text}".encode()) for name, text in gap.extra) <= room:
            return generation
        kept: list[tuple[str, str]] = []
        for name, text in reversed(gap.extra):
            room -= HEAD_TOKENS + len(name.encode())
            if self.vocabulary.longest is None or len(text) > room * self.vocabulary.longest:
                break
            room -= await self._count_prompt(replace(generation, prompt=text, infill=None))
            if room < 0:
                break
            kept.insert(0, (name, text))
        return replace(generation, infill=replace(gap, extra=tuple(kept)))

    async def _with_gap(self, generation: Generation, behind: str) -> Generation:
        """The generation with the prompt of a text with a gap. Raises `GenerationError`."""
        if self._infill is None:
            self._infill = (await find_infill_markers(partial(self._is_token, generation)),)
        (markers,) = self._infill
        if markers is None:
            raise GenerationError("unsupported_parameter", UNSUPPORTED_SUFFIX)
        return replace(generation, prompt=markers.prompt(generation.prompt or "", behind), suffix=None)

    async def _is_token(self, generation: Generation, text: str) -> bool:
        """Whether a text is one token of the model."""
        request = orjson.dumps({"content": text, "add_special": False, "parse_special": True})
        try:
            return len((await self._post_json(TOKENIZE_PATH, request, generation))["tokens"]) == 1
        except (LookupError, TypeError) as error:
            raise malformed_answer() from error

    async def _stream(self, generation: Generation, parser: ChatParser) -> None:
        self._check_size(generation)
        async with self._prepared(generation) as on_head:
            await self._stream_prepared(await self._rendered(generation), parser, on_head)

    async def _stream_prepared(
        self, generation: Generation, parser: ChatParser, on_head: Callable[[], None]
    ) -> None:
        body = self._protocol.body(generation)
        namespace = generation.shared_namespace if self.caches_prompts else None
        erase = self.caches_prompts and namespace is None  # it shares nothing: it leaves nothing, either
        # a body begins with the messages
        async with self._slots.use(namespace, body, erase=erase, conversation=generation.conversation) as use:
            choice = b',"id_slot":%d,"cache_prompt":%s}' % (use.slot.id, b"true" if use.reuse else b"false")
            limit_s = self.preparation_limit_s + preparation_bytes(generation) / BYTES_PER_S
            try:
                async with watch_preparation(limit_s, partial(self._is_idle, use.slot.id)) as stop:

                    def answering() -> None:
                        stop()
                        on_head()

                    await self._post(body[:-1] + choice, generation, parser, answering)
            except TimeoutError as error:
                self._process.kill()  # nothing else ends the thread that renders the template
                raise GenerationError("invalid_prompt", ENDLESS_PREPARATION) from error
            finally:
                use.replaced = parser.reason is not None or parser.usage.output_tokens > 0


def _has_media(message: Message) -> bool:
    return bool(message.images or message.recordings)


def cache_use(answer: bytes) -> float | None:
    """The share of the cache that holds tokens, of running requests and of ended ones."""
    slots = orjson.loads(answer)
    return float(sum(slot.get("n_prompt_tokens", 0) for slot in slots) / sum(slot["n_ctx"] for slot in slots))
