"""Translation with a converted encoder and decoder (`ctranslate2.Translator`): Marian, NLLB, M2M-100, others.

Such a model knows no more than a sentence, so a text is cut into sentences, some of them are translated
together, and what they say leaves in their order. With one beam the words leave as they come, with more a
sentence leaves when it is whole.
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
from .batches import Batches, Hear, Row
from .languages import (
    Languages,
    UnknownLanguage,
    languages,
    listed,
    same_language,
)
from .segments import Piece, halves, pieces
from .service import LoadFailure, Refusal
from .tokens import (
    JsonTokens,
    Letters,
    PieceTokens,
    Tokens,
    limit_of,
    longest_of,
    read_json,
    read_vocabulary,
    split_within,
    whole,
)

AT_ONCE = 16  # sentences of one request; the next ones have their turn when these are translated
LETTERS = 4000  # read at a time, before the loop hears the others again
PIECE_LETTERS = 8  # that a piece without any costs
LONGEST = 256  # tokens of one sentence
MARKS = 4  # what may stand around it
USUAL_POSITIONS = 512
END = "</s>"
PIECES = (
    ("source.spm", "target.spm"),
    *[(name, name) for name in ("sentencepiece.bpe.model", "spiece.model")],
)
COPY = "ct2-transformers-converter --copy_files"


@dataclass(eq=False)
class Sentence(Row):
    """A row and how its translation begins."""

    prefix: Sequence[str] = ()


@dataclass
class Part:
    """A sentence under way, or nothing to translate; `gap` is what stands behind it."""

    row: Sentence | None
    gap: str
    letters: Letters
    unsaid: deque[str] = field(default_factory=deque)
    over: bool = False


@dataclass
class Translation:
    """A request under way: what of it is not begun yet, and the sentences that are not said yet."""

    pieces: Iterator[Piece]
    source: list[str]  # what stands before each sentence
    prefix: list[str]  # how each translation begins
    limit: int | None
    reply: OutputParser
    parts: deque[Part] = field(default_factory=deque)
    read: bool = False
    """No piece is left."""
    input_tokens: int = 0
    said: int = 0
    cut: bool = False


class Translations:
    """Fulfils `Service` for translators."""

    def __init__(self, translator: Any, folder: Path, options: dict[str, Any]) -> None:
        self._translator = translator
        self._tokens: Tokens = _tokenizer(folder)
        vocabulary = read_vocabulary(folder)
        self._longest = longest_of(vocabulary)
        self._languages: Languages = languages(vocabulary)
        self._hidden = frozenset((END, *self._languages.marks.values()))
        self._beams: int = options["beam_size"]
        self._source: str | None = options["source_lang_code"]
        self._target: str | None = options["target_lang_code"]
        self._adds_end = bool(read_json(folder / "config.json").get("add_source_eos"))
        self._positions = limit_of(folder) or USUAL_POSITIONS
        self._check_defaults()
        self.context: int | None = options["n_ctx"]
        self.batches = Batches(self._run, lambda _oldest, _row: True)
        self._translations: dict[int, Translation] = {}
        self._unread: deque[int] = deque()  # those with no sentence under way
        self._parts: dict[Sentence, Part] = {}

    @property
    def running(self) -> int:
        """See `Service.running`."""
        return len(self._translations)

    def try_it(self) -> None:
        """See `Service.try_it`."""
        self._run([Sentence(0, [*self._tokens.split("Hello"), END], 1)], lambda *_: True)

    def begin(self, number: int, request: dict[str, Any], step: Step) -> None:  # noqa: ARG002 - see `go_on`
        """See `Service.begin`."""
        text = whole(request["text"])
        self._check_size(text)
        source, prefix = self._marks(request.get("source"), request.get("target"))
        reply = OutputParser(number, PLAIN, request.get("stop", ()))
        translation = Translation(pieces(text), source, prefix, request.get("max_tokens"), reply)
        self._translations[number] = translation
        self._unread.append(number)

    def go_on(self, step: Step) -> bool:
        """See `Service.go_on`."""
        if self._unread and (number := self._unread.popleft()) in self._translations:
            try:
                self._begin_parts(number, self._translations[number])
                self._advance(number, step)
            except Exception:  # whatever one text brings, the others are not to end with it
                traceback.print_exc()
                sys.stderr.flush()
                self._forget(number)
                step.add_error(number, "engine_error", "the engine cannot translate this text")
        return bool(self._unread)

    def cancel(self, number: int, step: Step) -> None:
        """See `Service.cancel`."""
        if number in self._translations:
            self._end(number, "cancelled", step)

    def take(self, row: Sentence, tokens: Sequence[str], last: bool, step: Step) -> None:
        """See `Service.take`."""
        part = self._parts.get(row)
        if part is None:
            return
        if not tokens:
            self._forget(row.number)
            step.add_error(row.number, "engine_error", "the engine failed while it translated")
            return
        part.unsaid.extend(tokens)
        part.over = last
        if last and row.said >= row.limit and tokens[-1] != END:
            self._translations[row.number].cut = True
        self._advance(row.number, step)

    def _advance(self, number: int, step: Step) -> None:
        """Say what is known, in order; when all of it is said, let the next sentences begin, or end it."""
        translation = self._translations[number]
        while translation.parts:
            part = translation.parts[0]
            reason = self._say(translation, part, step)
            if reason is not None:
                self._end(number, reason, step)
                return
            if not part.over:
                return
            translation.parts.popleft()
            if part.row is not None:
                del self._parts[part.row]
            if translation.reply.feed(part.letters.rest() + part.gap, step, 0):
                self._end(number, "stop", step)
                return
        if not translation.read:
            self._unread.append(number)
            return
        translation.reply.finish(step)
        self._end(number, "length" if translation.cut else "stop", step)

    def _say(self, translation: Translation, part: Part, step: Step) -> str | None:
        """Say what a sentence has; the reason when that ends the whole."""
        while part.unsaid:
            token = part.unsaid.popleft()
            if token in self._hidden:
                continue
            translation.said += 1
            if translation.reply.feed(part.letters.take(token), step):
                return "stop"
            if translation.said == translation.limit:
                if translation.reply.feed(part.letters.rest(), step, 0):
                    return "stop"
                translation.reply.finish(step)
                return "length"
        return None

    def _begin_parts(self, number: int, translation: Translation) -> None:
        """Put the next sentences in line, as many as may be read at a time."""
        begun = letters = 0
        while begun < AT_ONCE and letters < LETTERS:
            piece = next(translation.pieces, None)
            if piece is None:
                translation.read = True
                return
            letters += PIECE_LETTERS + len(piece[0])
            for text, gap, tokens in self._cut(*piece):
                row = None
                if text:
                    asked = [*translation.source, *tokens, *([] if self._adds_end else [END])]
                    longest = min(3 * len(tokens) + 20, self._positions - MARKS)
                    row = Sentence(
                        number, asked, longest + len(translation.prefix), prefix=translation.prefix
                    )
                    translation.input_tokens += len(asked)
                    begun += 1
                self._add(translation, row, gap)

    def _add(self, translation: Translation, row: Sentence | None, gap: str) -> None:
        part = Part(row, gap, Letters(self._tokens), over=row is None)
        translation.parts.append(part)
        if row is not None:
            self._parts[row] = part
            self.batches.add(row)

    def _cut(self, text: str, gap: str) -> Iterator[tuple[str, str, list[str]]]:
        """A sentence with its gap and its tokens, in halves of halves if it has too many."""
        tokens = self._tokens.split(text)
        if len(tokens) <= min(LONGEST, self._positions - MARKS) or len(text) < 2:
            yield text, gap, tokens
            return
        (left, between), (right, _) = halves(text)
        yield from self._cut(left, between)
        yield from self._cut(right, gap)

    def _end(self, number: int, reason: str, step: Step) -> None:
        translation = self._translations[number]
        self._forget(number)
        step.add_end(number, reason, (translation.input_tokens, translation.said, 0, 0))

    def _forget(self, number: int) -> None:
        for part in self._translations.pop(number).parts:
            if part.row is not None:
                del self._parts[part.row]
                self.batches.drop(part.row)

    def _check_size(self, text: str) -> None:
        """Raise `Refusal` for a text of more tokens than the operator allows."""
        if self.context is None:
            return
        tokens = split_within(self._tokens, text, self.context, self._longest)
        if tokens is None:
            raise Refusal("context_length_exceeded", f"the text does not fit: {self.context} tokens fit")
        if len(tokens) > self.context:
            told = f"the text has {len(tokens)} tokens; {self.context} fit"
            raise Refusal("context_length_exceeded", told)

    def _marks(self, source: str | None, target: str | None) -> tuple[list[str], list[str]]:
        """What stands before each sentence, and how each translation begins. Raises `Refusal`."""
        source, target = source or self._source, target or self._target
        known = self._languages
        if not known.marks:
            self._check_pair(source, target)
            return [], []
        if target is None:
            raise Refusal("invalid_prompt", f"target_lang_code is missing; there are {listed(known.marks)}")
        if source is None and not known.before_source_only:
            what = "source_lang_code is missing: this model has to be told what language the text is in"
            raise Refusal("invalid_prompt", what)
        try:
            to = known.mark(target, "target_lang_code")
            if known.before_source_only:
                return [to], []
            return [known.mark(source or "", "source_lang_code")], [to]
        except UnknownLanguage as error:
            raise Refusal("invalid_prompt", str(error)) from error

    def _check_pair(self, source: str | None, target: str | None) -> None:
        """A model of one pair does not say which; the options may. Raises `Refusal`."""
        for code, own, what in ((source, self._source, "source"), (target, self._target, "target")):
            if code is not None and own is not None and not same_language(code, own):
                field = f"{what}_lang_code"
                raise Refusal("invalid_prompt", f"{field}: this model knows {own} only, not {code}")

    def _check_defaults(self) -> None:
        """What the options name must be known. Raises `LoadFailure`."""
        for name, code in (("source", self._source), ("target", self._target)):
            try:
                if code is not None and self._languages.marks:
                    self._languages.mark(code, f"correct ct2_{name}_lang_code")
            except UnknownLanguage as error:
                raise LoadFailure(str(error)) from error

    def _run(self, rows: Sequence[Sentence], hear: Hear) -> None:
        """See `Run`."""
        longest = max(row.limit for row in rows)
        streamed = self._beams == 1  # the library has no use for a callback otherwise
        found = self._translator.translate_batch(
            [row.tokens for row in rows],
            target_prefix=[row.prefix for row in rows],
            beam_size=self._beams,
            max_input_length=0,
            max_decoding_length=longest,
            disable_unk=True,
            callback=(lambda said: hear(said.batch_id, (said.token,), said.is_last)) if streamed else None,
        )
        if not streamed:
            for place, one in enumerate(found):
                best = one.hypotheses[0]
                hear(place, best if len(best) >= longest else (*best, END), True)


def _tokenizer(folder: Path) -> Tokens:
    """The one beside the model. Raises `LoadFailure`."""
    try:
        for source, target in PIECES:
            if (folder / source).is_file() and (folder / target).is_file():
                return PieceTokens(folder / source, folder / target)
        if (folder / "tokenizer.json").is_file():
            return JsonTokens(folder / "tokenizer.json")
    except Exception as error:  # both libraries raise bare ones
        print(f"the tokenizer: {error}", file=sys.stderr, flush=True)
        raise LoadFailure("the tokenizer beside the model cannot be read: convert the model again") from error
    raise LoadFailure(
        f"the model's tokenizer is missing: {COPY} copies it"
        " (source.spm and target.spm, or sentencepiece.bpe.model, or tokenizer.json)"
    )
