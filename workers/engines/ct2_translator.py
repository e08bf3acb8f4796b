"""Translation with a converted encoder and decoder (`ctranslate2.Translator`): Marian, NLLB, M2M-100, others.

Such a model knows no more than a sentence, so a text is cut into sentences, some of them are translated
together, and what they say leaves in their order. With one beam the words leave as they come, with more a
sentence leaves when it is whole.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .ct2_batches import Batches, Hear, Row
from .ct2_languages import Languages, UnknownLanguage, languages, listed, same_language
from .ct2_segments import Piece, halves, pieces
from .ct2_service import LoadFailure, Refusal
from .ct2_tokens import JsonTokens, Letters, PieceTokens, Tokens, limit_of, read_json, read_vocabulary
from .reply import Reply
from .step import Step
from .syntax import PLAIN

AT_ONCE = 16  # sentences of one request; the next ones have their turn when these are translated
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
    reply: Reply
    parts: deque[Part] = field(default_factory=deque)
    input_tokens: int = 0
    said: int = 0
    cut: bool = False


class Translations:
    """Fulfils `Service` for translators."""

    def __init__(self, translator: Any, folder: Path, options: dict[str, Any]) -> None:
        self._translator = translator
        self._tokens: Tokens = _tokenizer(folder)
        vocabulary = read_vocabulary(folder)
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
        self._parts: dict[Sentence, Part] = {}

    @property
    def running(self) -> int:
        """See `Service.running`."""
        return len(self._translations)

    def try_it(self) -> None:
        """See `Service.try_it`."""
        self._run([Sentence(0, [*self._tokens.split("Hello"), END], 1)], lambda *_: True)

    def begin(self, number: int, request: dict[str, Any], step: Step) -> None:
        """See `Service.begin`."""
        text = request["text"]
        if self.context is not None and (size := len(self._tokens.split(text))) > self.context:
            raise Refusal("context_length_exceeded", f"the text has {size} tokens; {self.context} fit")
        source, prefix = self._marks(request.get("source"), request.get("target"))
        reply = Reply(number, PLAIN, request.get("stop", ()))
        translation = Translation(pieces(text), source, prefix, request.get("max_tokens"), reply)
        self._translations[number] = translation
        self._advance(number, step)

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
            step.error(row.number, "engine_error", "the engine failed while it translated")
            return
        part.unsaid.extend(tokens)
        part.over = last
        if last and row.said >= row.limit and tokens[-1] != END:
            self._translations[row.number].cut = True
        self._advance(row.number, step)

    def _advance(self, number: int, step: Step) -> None:
        """Say what is known, in order; begin the next sentences when these are said, or end it."""
        translation = self._translations[number]
        while translation.parts or self._begin_parts(number, translation):
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
            if translation.reply.take(part.letters.rest() + part.gap, step, 0):
                self._end(number, "stop", step)
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
            if translation.reply.take(part.letters.take(token), step):
                return "stop"
            if translation.said == translation.limit:
                if translation.reply.take(part.letters.rest(), step, 0):
                    return "stop"
                translation.reply.finish(step)
                return "length"
        return None

    def _begin_parts(self, number: int, translation: Translation) -> bool:
        """Put the next sentences in line; false when there are none."""
        begun = 0
        while begun < AT_ONCE and (piece := next(translation.pieces, None)) is not None:
            for text, gap, tokens in self._cut(*piece):
                row = None
                if text:
                    whole = [*translation.source, *tokens, *([] if self._adds_end else [END])]
                    longest = min(3 * len(tokens) + 20, self._positions - MARKS)
                    row = Sentence(
                        number, whole, longest + len(translation.prefix), prefix=translation.prefix
                    )
                    translation.input_tokens += len(whole)
                    begun += 1
                self._add(translation, row, gap)
        return bool(translation.parts)

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
        step.end(number, reason, (translation.input_tokens, translation.said, 0, 0))

    def _forget(self, number: int) -> None:
        for part in self._translations.pop(number).parts:
            if part.row is not None:
                del self._parts[part.row]
                self.batches.drop(part.row)

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
