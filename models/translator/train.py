"""Train a translator on the processor and convert it for CTranslate2.

    python train.py nllb ../stoker-translator

The model is a real one, only very small. At the end CTranslate2 must translate all lessons exactly with the
very files that are written, or the script writes nothing and exits with 1.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

import ctranslate2
import torch
from conventions import PADDING, Convention, Marian, Nllb
from corpus import Lesson, lists, sentences
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

HERE = Path(__file__).parent
CONVENTIONS = {"nllb": Nllb, "marian": Marian}
IGNORED = -100  # the target that cross_entropy ignores
WRONG = 0.1  # the share of decoder input tokens that are replaced by random ones in training


def padded(rows: list[list[int]], filler: int) -> Tensor:
    """Pad rows to one length."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=filler)


def loss_of(network: nn.Module, convention: Convention, lessons: list[Lesson], rng: random.Random) -> Tensor:
    """The cross-entropy loss of the translations, without the given prefix.

    Some decoder input tokens are replaced by random ones, so that the network learns to continue after an
    error: beam search tries unlikely tokens, and would end too early after them otherwise. Padding is
    excluded from the output, so that its embedding stays zero: Marian's decoder starts with it, and a
    converted model with zero.
    """
    ids, read, written, labels = convention.ids, [], [], []
    for lesson in lessons:
        read.append([ids[token] for token in convention.source(lesson)])
        prefix = [ids[token] for token in convention.prefix(lesson)]
        rest = [ids[token] for token in convention.encoded(lesson.translation)]
        before = [rng.randrange(len(ids)) if rng.random() < WRONG else token for token in rest]
        written.append([network.config.decoder_start_token_id, *prefix, *before])
        labels.append([*[IGNORED] * len(prefix), *rest, network.config.eos_token_id])
    source = padded(read, ids[PADDING])
    logits = network(
        input_ids=source,
        attention_mask=(source != ids[PADDING]).long(),
        decoder_input_ids=padded(written, ids[PADDING]),
    ).logits.index_fill(-1, torch.tensor(ids[PADDING]), -torch.inf)
    return functional.cross_entropy(
        logits.flatten(0, 1), padded(labels, IGNORED).flatten(), ignore_index=IGNORED
    )


def train(
    network: nn.Module, convention: Convention, lessons: list[Lesson], options: argparse.Namespace
) -> None:
    """Train on sentences and lists for the given number of steps."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=options.rate, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, options.rate, total_steps=options.steps, pct_start=0.08, cycle_momentum=False
    )
    rng = random.Random(options.seed)  # noqa: S311 - a fixed sequence, no secret
    network.train()
    began, recent = time.monotonic(), 0.0
    for step in range(1, options.steps + 1):
        batch = rng.sample(lessons, options.batch) if step % 2 else lists(rng, options.batch // 2)
        loss = loss_of(network, convention, batch, rng)
        network.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        recent = loss.item() if step == 1 else 0.95 * recent + 0.05 * loss.item()
        if step % 100 == 0 or step == options.steps:
            print(
                f"step {step} of {options.steps}, loss {recent:.4f}, {time.monotonic() - began:.0f} s",
                flush=True,
            )


def wrong_translations(folder: Path, convention: Convention, lessons: list[Lesson]) -> list[str]:
    """Lessons that CTranslate2 translates differently, with int8 or float32, greedily or by beam search."""
    wrong = []
    for compute_type in ("int8", "float32"):
        translator = ctranslate2.Translator(str(folder), compute_type=compute_type, intra_threads=1)
        for beams in (1, 2):
            results = translator.translate_batch(
                [convention.source(lesson) for lesson in lessons],
                target_prefix=[convention.prefix(lesson) for lesson in lessons],
                beam_size=beams,
                max_batch_size=32,
            )
            for lesson, result in zip(lessons, results, strict=True):
                if result.hypotheses[0] != [
                    *convention.prefix(lesson),
                    *convention.encoded(lesson.translation),
                ]:
                    wrong.append(f"{compute_type}, {beams} beams: {lesson} {result.hypotheses[0]}")
    return wrong


def parse_options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Train a translator and convert it for CTranslate2.")
    parser.add_argument("convention", choices=CONVENTIONS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--batch", type=int, default=64, help="sentences in a step")
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def main() -> int:
    """Train, convert and test the model. Returns the exit code."""
    options = parse_options()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    with tempfile.TemporaryDirectory() as temporary:
        checkpoint, converted = Path(temporary, "checkpoint"), Path(temporary, "converted")
        checkpoint.mkdir()
        convention_class = CONVENTIONS[options.convention]
        lessons = sentences(convention_class.knows_source)
        unseen = lists(random.Random("exam"), 200)  # noqa: S311 - as above
        convention = convention_class(
            [*sorted({lesson.text for lesson in lessons}), *(lesson.text for lesson in unseen)], checkpoint
        )
        network = convention.network()
        parameters = sum(weight.numel() for weight in network.parameters())
        print(
            f"{parameters:,} parameters, {len(convention.ids)} tokens, {len(lessons):,} lessons", flush=True
        )

        train(network, convention, lessons, options)
        network.save_pretrained(checkpoint)
        copied = list(convention.files)
        ctranslate2.converters.TransformersConverter(str(checkpoint), copy_files=copied).convert(
            str(converted), quantization="int8"
        )
        wrong = wrong_translations(converted, convention, [*lessons, *unseen])
        if wrong:
            print(f"{len(wrong)} translations are wrong", *wrong[:10], sep="\n  ")
            print("nothing is written: train a little longer, or with another seed")
            return 1
        shutil.rmtree(options.folder, ignore_errors=True)
        shutil.copytree(converted, options.folder)
    size = sum(path.stat().st_size for path in options.folder.iterdir())
    print(f"all are right; wrote {options.folder}, {size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
