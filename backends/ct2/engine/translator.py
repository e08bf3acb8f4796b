"""Translation with a converted encoder and decoder (`ctranslate2.Translator`): Marian, NLLB, M2M-100, others.

Such a model translates one sentence at a time, so a text is cut into sentences, some of which are translated
together, and their translations are returned in order. With one beam the tokens are streamed, with more beams
whole sentences.
"""

from __future__ import annotations

import sys
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...shared.engine.output_parser import OutputParser
from ...shared.engine.pipe import Step
from ...shared.engine.syntax import PLAIN
from .batches import BatchRow, BatchScheduler, OnTokens
from .languages import (
    Languages,
    UnknownLanguage,
    languages,
    listed,
    same_language,
)
from .segments import Piece, halves, pieces
from .service import Ct2LoadError, Ct2RequestError
from .tokens import (
    IncrementalDecoder,
    JsonTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    longest_token_bytes,
    position_limit,
    read_json,
    read_vocabulary,
    split_within,
    without_surrogates,
)

MAX_SENTENCES = 16  # of one request that are translated at a time
MAX_CHARACTERS = 4000  # that are prepared at a time, before the loop handles other requests
EMPTY_PIECE_COST = 8  # characters that a piece without a sentence counts as
MAX_SENTENCE_TOKENS = 256
SPECIAL_TOKENS = 4  # the most special tokens around a sentence
DEFAULT_POSITIONS = 512
END = "</s>"
SENTENCEPIECE_FILES = (
    ("source.spm", "target.spm"),
    *[(name, name) for name in ("sentencepiece.bpe.model", "spiece.model")],
)
COPY_COMMAND = "ct2-transformers-converter --copy_files"


@dataclass(eq=False)
class SentenceRow(BatchRow):
    """The row of a sentence; `prefix` are the first tokens of its translation."""

    prefix: Sequence[str] = ()


@dataclass
class TranslatedPiece:
    """A sentence that is being translated (`row` None: there is none); `gap` is the text behind it.

    `unread` are generated tokens that are not yet part of the answer.
    """

    row: SentenceRow | None
    gap: str
    decoder: IncrementalDecoder
    unread: deque[str] = field(default_factory=deque)
    finished: bool = False


@dataclass
class Translation:
    """The state of a running request: the pieces that remain, and those that are being translated."""

    pieces: Iterator[Piece]
    source: list[str]  # tokens before each sentence
    prefix: list[str]  # the first tokens of each translation
    limit: int | None
    parser: OutputParser
    parts: deque[TranslatedPiece] = field(default_factory=deque)
    exhausted: bool = False
    """No pieces remain."""
    input_tokens: int = 0
    output_tokens: int = 0
    truncated: bool = False


class TranslationService:
    """Fulfils `Service` for translators."""

    def __init__(self, translator: Any, folder: Path, options: dict[str, Any]) -> None:
        self._translator = translator
        self._tokenizer: Tokenizer = _tokenizer(folder)
        vocabulary = read_vocabulary(folder)
        self._longest = longest_token_bytes(vocabulary)
        self._languages: Languages = languages(vocabulary)
        self._hidden_tokens = frozenset((END, *self._languages.tokens.values()))
        self._beams: int = options["beam_size"]
        self._source: str | None = options["source_lang_code"]
        self._target: str | None = options["target_lang_code"]
        self._adds_end = bool(read_json(folder / "config.json").get("add_source_eos"))
        self._positions = position_limit(folder) or DEFAULT_POSITIONS
        self._check_defaults()
        self.context: int | None = options["n_ctx"]
        self.batches = BatchScheduler(self._run, lambda _oldest, _row: True)
        self._translations: dict[int, Translation] = {}
        self._unprepared: deque[int] = deque()  # requests of which no sentence is being translated
        self._parts: dict[SentenceRow, TranslatedPiece] = {}

    @property
    def running(self) -> int:
        """The number of requests that have not ended."""
        return len(self._translations)

    def warm_up(self) -> None:
        """Translate one token, so that a missing or broken library raises its error now."""
        self._run([SentenceRow(0, [*self._tokenizer.split("Hello"), END], 1)], lambda *_: True)

    def add_request(self, number: int, request: dict[str, Any], step: Step) -> None:  # noqa: ARG002 - unused
        """Accept a request, whose sentences `prepare_more` prepares. Raises `Ct2RequestError`."""
        text = without_surrogates(request["text"])
        self._check_size(text)
        source, prefix = self._language_tokens(request.get("source"), request.get("target"))
        parser = OutputParser(number, PLAIN, request.get("stop", ()))
        translation = Translation(pieces(text), source, prefix, request.get("max_tokens"), parser)
        self._translations[number] = translation
        self._unprepared.append(number)

    def prepare_more(self, step: Step) -> bool:
        """Prepare sentences of the next text for a few milliseconds; True while there are more."""
        if self._unprepared and (number := self._unprepared.popleft()) in self._translations:
            try:
                self._prepare_parts(number, self._translations[number])
                self._advance(number, step)
            except Exception:  # an error in one text must not end the other requests
                traceback.print_exc()
                sys.stderr.flush()
                self._remove(number)
                step.add_error(number, "engine_error", "the engine cannot translate this text")
        return bool(self._unprepared)

    def cancel(self, number: int, step: Step) -> None:
        """End a request; unknown numbers are ignored."""
        if number in self._translations:
            self._end(number, "cancelled", step)

    def on_tokens(self, row: SentenceRow, tokens: Sequence[str], last: bool, step: Step) -> None:
        """Process tokens of a sentence. No tokens with `last` mean that its batch failed."""
        part = self._parts.get(row)
        if part is None:
            return
        if not tokens:
            self._remove(row.number)
            step.add_error(row.number, "engine_error", "the engine failed while it translated")
            return
        part.unread.extend(tokens)
        part.finished = last
        if last and row.generated >= row.limit and tokens[-1] != END:
            self._translations[row.number].truncated = True
        self._advance(row.number, step)

    def _advance(self, number: int, step: Step) -> None:
        """Add the generated tokens to the answer, in order; after the last piece prepare more, or end the
        request."""
        translation = self._translations[number]
        while translation.parts:
            part = translation.parts[0]
            reason = self._read_tokens(translation, part, step)
            if reason is not None:
                self._end(number, reason, step)
                return
            if not part.finished:
                return
            translation.parts.popleft()
            if part.row is not None:
                del self._parts[part.row]
            if translation.parser.feed(part.decoder.flush() + part.gap, step, 0):
                self._end(number, "stop", step)
                return
        if not translation.exhausted:
            self._unprepared.append(number)
            return
        translation.parser.finish(step)
        self._end(number, "length" if translation.truncated else "stop", step)

    def _read_tokens(self, translation: Translation, part: TranslatedPiece, step: Step) -> str | None:
        """Add the tokens of one sentence to the answer; the reason if that ends the whole request."""
        while part.unread:
            token = part.unread.popleft()
            if token in self._hidden_tokens:
                continue
            translation.output_tokens += 1
            if translation.parser.feed(part.decoder.add(token), step):
                return "stop"
            if translation.output_tokens == translation.limit:
                if translation.parser.feed(part.decoder.flush(), step, 0):
                    return "stop"
                translation.parser.finish(step)
                return "length"
        return None

    def _prepare_parts(self, number: int, translation: Translation) -> None:
        """Queue the next sentences, as many as may be prepared at a time."""
        sentences = characters = 0
        while sentences < MAX_SENTENCES and characters < MAX_CHARACTERS:
            piece = next(translation.pieces, None)
            if piece is None:
                translation.exhausted = True
                return
            characters += EMPTY_PIECE_COST + len(piece[0])
            for text, gap, tokens in self._cut(*piece):
                row = None
                if text:
                    source = [*translation.source, *tokens, *([] if self._adds_end else [END])]
                    longest = min(3 * len(tokens) + 20, self._positions - SPECIAL_TOKENS)
                    row = SentenceRow(
                        number, source, longest + len(translation.prefix), prefix=translation.prefix
                    )
                    translation.input_tokens += len(source)
                    sentences += 1
                self._add(translation, row, gap)

    def _add(self, translation: Translation, row: SentenceRow | None, gap: str) -> None:
        part = TranslatedPiece(row, gap, IncrementalDecoder(self._tokenizer), finished=row is None)
        translation.parts.append(part)
        if row is not None:
            self._parts[row] = part
            self.batches.add(row)

    def _cut(self, text: str, gap: str) -> Iterator[tuple[str, str, list[str]]]:
        """A sentence with its gap and its tokens, halved repeatedly if it has too many tokens."""
        tokens = self._tokenizer.split(text)
        if len(tokens) <= min(MAX_SENTENCE_TOKENS, self._positions - SPECIAL_TOKENS) or len(text) < 2:
            yield text, gap, tokens
            return
        (left, between), (right, _) = halves(text)
        yield from self._cut(left, between)
        yield from self._cut(right, gap)

    def _end(self, number: int, reason: str, step: Step) -> None:
        translation = self._translations[number]
        self._remove(number)
        step.add_end(number, reason, (translation.input_tokens, translation.output_tokens, 0, 0))

    def _remove(self, number: int) -> None:
        for part in self._translations.pop(number).parts:
            if part.row is not None:
                del self._parts[part.row]
                self.batches.remove(part.row)

    def _check_size(self, text: str) -> None:
        """Raise `Ct2RequestError` for a text of more tokens than the operator allows."""
        if self.context is None:
            return
        tokens = split_within(self._tokenizer.split, text, self.context, self._longest)
        if tokens is None:
            raise Ct2RequestError(
                "context_length_exceeded", f"the text does not fit: {self.context} tokens fit"
            )
        if len(tokens) > self.context:
            message = f"the text has {len(tokens)} tokens; {self.context} fit"
            raise Ct2RequestError("context_length_exceeded", message)

    def _language_tokens(self, source: str | None, target: str | None) -> tuple[list[str], list[str]]:
        """The tokens before each sentence and before each translation. Raises `Ct2RequestError`."""
        source, target = source or self._source, target or self._target
        known = self._languages
        if not known.tokens:
            self._check_pair(source, target)
            return [], []
        if target is None:
            raise Ct2RequestError(
                "invalid_prompt", f"target_lang_code is missing; there are {listed(known.tokens)}"
            )
        if source is None and not known.before_source_only:
            message = "source_lang_code is missing: this model needs the language of the text"
            raise Ct2RequestError("invalid_prompt", message)
        try:
            to = known.token(target, "target_lang_code")
            if known.before_source_only:
                return [to], []
            return [known.token(source or "", "source_lang_code")], [to]
        except UnknownLanguage as error:
            raise Ct2RequestError("invalid_prompt", str(error)) from error

    def _check_pair(self, source: str | None, target: str | None) -> None:
        """Check the codes for a model of one pair against its options. Raises `Ct2RequestError`."""
        for code, own, side in ((source, self._source, "source"), (target, self._target, "target")):
            if code is not None and own is not None and not same_language(code, own):
                field = f"{side}_lang_code"
                raise Ct2RequestError(
                    "invalid_prompt", f"{field}: this model supports only {own}, not {code}"
                )

    def _check_defaults(self) -> None:
        """Check that the model knows the languages of its options. Raises `Ct2LoadError`."""
        for name, code in (("source", self._source), ("target", self._target)):
            try:
                if code is not None and self._languages.tokens:
                    self._languages.token(code, f"correct ct2_{name}_lang_code")
            except UnknownLanguage as error:
                raise Ct2LoadError(str(error)) from error

    def _run(self, rows: Sequence[SentenceRow], on_tokens: OnTokens) -> None:
        """Translate one batch of sentences."""
        longest = max(row.limit for row in rows)
        streamed = self._beams == 1  # with more beams the library calls no callback
        results = self._translator.translate_batch(
            [row.tokens for row in rows],
            target_prefix=[row.prefix for row in rows],
            beam_size=self._beams,
            max_input_length=0,
            max_decoding_length=longest,
            disable_unk=True,
            callback=(lambda result: on_tokens(result.batch_id, (result.token,), result.is_last))
            if streamed
            else None,
        )
        if not streamed:
            for index, result in enumerate(results):
                best = result.hypotheses[0]
                on_tokens(index, best if len(best) >= longest else (*best, END), True)


def _tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer beside the model. Raises `Ct2LoadError`."""
    try:
        for source, target in SENTENCEPIECE_FILES:
            if (folder / source).is_file() and (folder / target).is_file():
                return SentencePieceTokenizer(folder / source, folder / target)
        if (folder / "tokenizer.json").is_file():
            return JsonTokenizer(folder / "tokenizer.json")
    except Exception as error:  # both libraries raise bare exceptions
        print(f"the tokenizer: {error}", file=sys.stderr, flush=True)
        raise Ct2LoadError(
            "the tokenizer beside the model cannot be read: convert the model again"
        ) from error
    raise Ct2LoadError(
        f"the model's tokenizer is missing: {COPY_COMMAND} copies it"
        " (source.spm and target.spm, or sentencepiece.bpe.model, or tokenizer.json)"
    )
