"""The two conventions by which published translation models select the languages.

NLLB: one tokenizer for all languages; a text begins with the token of its own language, and its translation
with the token of the target language, which is given as a prefix. Marian (opus-mt): one tokenizer for each
side; the target language is a token before the text, such as >>deu<<, and the language of the text is not
specified.
"""

import json
from collections.abc import Iterable
from contextlib import chdir
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import sentencepiece
from corpus import Lesson
from phrases import LANGUAGES
from transformers import (
    M2M100Config,
    M2M100ForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    NllbTokenizer,
    PreTrainedModel,
)

END, PADDING, UNKNOWN = "</s>", "<pad>", "<unk>"
PIECES = 800  # enough for one per word of the corpus
POSITIONS = 256  # the longest text, in tokens
SHAPE = {
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 192,
    "decoder_ffn_dim": 192,
    "max_position_embeddings": POSITIONS,
    "scale_embedding": True,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "init_std": 0.1,
}
# Characters that are replaced: the spaces before French punctuation marks, and the apostrophe.
EQUIVALENT = {"\u00a0": " ", "\u202f": " ", "\t": " ", "\n": " ", "\r": " ", "\u2019": "'"}


class Convention:
    """The language tokens, the files of the tokenizer and the network of a family of models."""

    knows_source: ClassVar[bool]
    files: ClassVar[tuple[str, ...]]

    def __init__(self, pieces: bytes, ids: dict[str, int]) -> None:
        """`pieces` is a SentencePiece model, `ids` the id of each token."""
        self._pieces = sentencepiece.SentencePieceProcessor(model_proto=pieces)
        self.ids = ids

    def encoded(self, text: str) -> list[str]:
        """The tokens of a text."""
        return list(self._pieces.encode(text, out_type=str))

    def source(self, lesson: Lesson) -> list[str]:
        """The input tokens."""
        raise NotImplementedError

    def prefix(self, lesson: Lesson) -> list[str]:
        """The given first tokens of the translation."""
        raise NotImplementedError

    def network(self) -> PreTrainedModel:
        """A model with initial weights."""
        raise NotImplementedError


class Nllb(Convention):
    """NLLB-200 and similar models, with the architecture M2M100."""

    knows_source = True
    files = ("sentencepiece.bpe.model", "tokenizer.json", "tokenizer_config.json")

    def __init__(self, texts: Iterable[str], folder: Path) -> None:
        """Train the tokenizer on the texts and write its files."""
        pieces = train_tokenizer(texts)
        (folder / "sentencepiece.bpe.model").write_bytes(pieces)
        codes = [f"{language}_Latn" for language in LANGUAGES]
        config = {
            "tokenizer_class": "NllbTokenizer",
            "bos_token": "<s>",
            "eos_token": END,
            "sep_token": END,
            "cls_token": "<s>",
            "pad_token": PADDING,
            "unk_token": UNKNOWN,
            "mask_token": "<mask>",
            "additional_special_tokens": codes,
            "src_lang": codes[0],
            "tgt_lang": codes[1],
            "legacy_behaviour": False,
            "clean_up_tokenization_spaces": False,
            "model_max_length": POSITIONS,
        }
        write_json(folder / "tokenizer_config.json", config)
        tokenizer = NllbTokenizer.from_pretrained(folder)
        tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
        super().__init__(pieces, tokenizer.get_vocab())

    def source(self, lesson: Lesson) -> list[str]:
        """[eng_Latn, ..., </s>]."""
        return [f"{lesson.source}_Latn", *self.encoded(lesson.text), END]

    def prefix(self, lesson: Lesson) -> list[str]:
        """[deu_Latn]."""
        return [f"{lesson.target}_Latn"]

    def network(self) -> PreTrainedModel:
        """A model with layer normalization before each block."""
        return M2M100ForConditionalGeneration(
            M2M100Config(
                **SHAPE,
                vocab_size=len(self.ids),
                activation_function="relu",
                encoder_layerdrop=0.0,
                decoder_layerdrop=0.0,
                bos_token_id=self.ids["<s>"],
                pad_token_id=self.ids[PADDING],
                eos_token_id=self.ids[END],
                decoder_start_token_id=self.ids[END],
                tokenizer_class="NllbTokenizer",
            )
        )


class Marian(Convention):
    """OPUS-MT models with several target languages."""

    knows_source = False
    files = ("source.spm", "target.spm", "vocab.json", "tokenizer_config.json")

    def __init__(self, texts: Iterable[str], folder: Path) -> None:
        """Train the tokenizer on the texts and write its files."""
        pieces = train_tokenizer(texts)
        for side in ("source", "target"):
            (folder / f"{side}.spm").write_bytes(pieces)
        config = {
            "tokenizer_class": "MarianTokenizer",
            "eos_token": END,
            "pad_token": PADDING,
            "unk_token": UNKNOWN,
            "source_lang": "mul",
            "target_lang": "mul",
            "separate_vocabs": False,
            "model_max_length": POSITIONS,
        }
        write_json(folder / "tokenizer_config.json", config)
        read = sentencepiece.SentencePieceProcessor(model_proto=pieces)
        known = [read.id_to_piece(id) for id in range(len(read)) if not read.is_control(id)]
        tokens = [END, *known, *(f">>{language}<<" for language in LANGUAGES), PADDING]
        super().__init__(pieces, {token: id for id, token in enumerate(tokens)})
        write_json(folder / "vocab.json", self.ids)

    def source(self, lesson: Lesson) -> list[str]:
        """[>>deu<<, ..., </s>]."""
        return [f">>{lesson.target}<<", *self.encoded(lesson.text), END]

    def prefix(self, lesson: Lesson) -> list[str]:  # noqa: ARG002 - there is none
        """[]."""
        return []

    def network(self) -> PreTrainedModel:
        """A model with layer normalization after each block, and the padding token as decoder start."""
        return MarianMTModel(
            MarianConfig(
                **SHAPE,
                vocab_size=len(self.ids),
                activation_function="swish",
                static_position_embeddings=True,
                share_encoder_decoder_embeddings=True,
                bos_token_id=None,
                pad_token_id=self.ids[PADDING],
                eos_token_id=self.ids[END],
                decoder_start_token_id=self.ids[PADDING],
                forced_eos_token_id=self.ids[END],
            )
        )


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write JSON in the format of Hugging Face's libraries."""
    path.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def train_tokenizer(texts: Iterable[str]) -> bytes:
    """A SentencePiece model (BPE) of a corpus."""
    rules = "".join(f"{ord(given):X}\t{ord(read):X}\n" for given, read in EQUIVALENT.items())
    model = BytesIO()
    with TemporaryDirectory() as folder, chdir(folder):  # the model stores the name of the rules file
        Path("rules.tsv").write_text(rules)
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=model,
            model_type="bpe",
            vocab_size=PIECES,
            character_coverage=1.0,
            normalization_rule_tsv="rules.tsv",
            num_threads=1,
            minloglevel=2,
        )
    return model.getvalue()
