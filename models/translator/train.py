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
IGNORED = -100  # what cross_entropy skips
WRONG = 0.1  # how much of what was written before is wrong, in training


def padded(rows: list[list[int]], filler: int) -> Tensor:
    """Lay rows side by side."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=filler)


def loss_of(network: nn.Module, way: Convention, lessons: list[Lesson], dice: random.Random) -> Tensor:
    """How far the network is from the translations. The prefix is given, so it is not learned.

    Now and then what was written before is made wrong, and the network has to find its way back: beam search
    tries what is unlikely, and would else come to an early end there. Padding cannot be chosen, and so its
    embedding stays zero: Marian begins with it, and what is converted begins with zero.
    """
    ids, read, written, wanted = way.ids, [], [], []
    for lesson in lessons:
        read.append([ids[token] for token in way.source(lesson)])
        prefix = [ids[token] for token in way.prefix(lesson)]
        rest = [ids[token] for token in way.encoded(lesson.translation)]
        before = [dice.randrange(len(ids)) if dice.random() < WRONG else token for token in rest]
        written.append([network.config.decoder_start_token_id, *prefix, *before])
        wanted.append([*[IGNORED] * len(prefix), *rest, network.config.eos_token_id])
    source = padded(read, ids[PADDING])
    logits = network(
        input_ids=source,
        attention_mask=(source != ids[PADDING]).long(),
        decoder_input_ids=padded(written, ids[PADDING]),
    ).logits.index_fill(-1, torch.tensor(ids[PADDING]), -torch.inf)
    return functional.cross_entropy(
        logits.flatten(0, 1), padded(wanted, IGNORED).flatten(), ignore_index=IGNORED
    )


def train(network: nn.Module, way: Convention, lessons: list[Lesson], options: argparse.Namespace) -> None:
    """Teach sentences and lists until the steps are used up."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=options.rate, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, options.rate, total_steps=options.steps, pct_start=0.08, cycle_momentum=False
    )
    dice = random.Random(options.seed)  # noqa: S311 - the same order for everybody, no secret
    network.train()
    began, recent = time.monotonic(), 0.0
    for step in range(1, options.steps + 1):
        batch = dice.sample(lessons, options.batch) if step % 2 else lists(dice, options.batch // 2)
        loss = loss_of(network, way, batch, dice)
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


def misses(folder: Path, way: Convention, lessons: list[Lesson]) -> list[str]:
    """What CTranslate2 translates otherwise, in whole numbers or in fractions, greedily or by beam search."""
    wrong = []
    for compute_type in ("int8", "float32"):
        translator = ctranslate2.Translator(str(folder), compute_type=compute_type, intra_threads=1)
        for beams in (1, 2):
            results = translator.translate_batch(
                [way.source(lesson) for lesson in lessons],
                target_prefix=[way.prefix(lesson) for lesson in lessons],
                beam_size=beams,
                max_batch_size=32,
            )
            for lesson, result in zip(lessons, results, strict=True):
                if result.hypotheses[0] != [*way.prefix(lesson), *way.encoded(lesson.translation)]:
                    wrong.append(f"{compute_type}, {beams} beams: {lesson} {result.hypotheses[0]}")
    return wrong


def parse_options() -> argparse.Namespace:
    """Read the command line."""
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
    """Train, convert and examine the model."""
    options = parse_options()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    with tempfile.TemporaryDirectory() as temporary:
        checkpoint, converted = Path(temporary, "checkpoint"), Path(temporary, "converted")
        checkpoint.mkdir()
        convention = CONVENTIONS[options.convention]
        lessons = sentences(convention.knows_source)
        unseen = lists(random.Random("exam"), 200)  # noqa: S311 - as above
        way = convention(
            [*sorted({lesson.text for lesson in lessons}), *(lesson.text for lesson in unseen)], checkpoint
        )
        network = way.network()
        parameters = sum(weight.numel() for weight in network.parameters())
        print(f"{parameters:,} parameters, {len(way.ids)} tokens, {len(lessons):,} lessons", flush=True)

        train(network, way, lessons, options)
        network.save_pretrained(checkpoint)
        copied = list(way.files)
        ctranslate2.converters.TransformersConverter(str(checkpoint), copy_files=copied).convert(
            str(converted), quantization="int8"
        )
        wrong = misses(converted, way, [*lessons, *unseen])
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
