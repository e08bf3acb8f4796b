"""Train the demo model on the processor and write it as a GGUF file.

    python train.py ../stoker-demo.gguf

The model is a real but very small one, with the architecture of Qwen3, its own tokenizer and its own chat
template. It memorizes the corpus. At the end it must answer all of it exactly with the quantized weights of
the file; otherwise the script writes nothing and exits with 1.
"""

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gguf
import jinja2
import numpy as np
import tokenizers
import torch
from corpus import Lesson, corpus
from network import DemoModel, Shape
from numpy.typing import NDArray
from tokenizers import decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn
from torch.nn import functional

HERE = Path(__file__).parent
TEMPLATE = (HERE / "chat_template.jinja").read_text().rstrip("\n")
END_OF_TEXT, END_OF_TURN = "<|endoftext|>", "<|im_end|>"
CONTROL_TOKENS = [END_OF_TEXT, "<|im_start|>", END_OF_TURN]
# Tokens that an engine must show as text, since its parsers look for them.
MARKUP_TOKENS = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tools>",
    "</tools>",
    "<tool_response>",
    "</tool_response>",
]
# The pre-tokenizer of Qwen2 and Qwen3. GGUF stores only its name ("qwen2").
QWEN2_SPLIT_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# A reply of the model, with its end token.
MODEL_TURN = re.compile(r"(?<=<\|im_start\|>assistant\n)(.*?<\|im_end\|>)", re.DOTALL)
IGNORED = -100  # the target that cross_entropy ignores

FILE_TYPES = {"f32": gguf.GGMLQuantizationType.F32, "q8_0": gguf.GGMLQuantizationType.Q8_0}


class Row(NamedTuple):
    """One lesson as tokens, with the target token of each position."""

    tokens: list[int]
    wanted: list[int]


# ---- text to tokens ----------------------------------------------------------


class ChatTemplate:
    """The chat template, rendered as engines render it."""

    def __init__(self, source: str) -> None:
        """Compile the template."""
        world = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)  # noqa: S701 - the output is no HTML
        world.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
        self.template = world.from_string(source)

    def render(self, lesson: Lesson) -> list[str]:
        """Render a conversation in pieces: prompt, reply, prompt, reply and so on.

        With thinking on, what came before counts as prompt: a client leaves the thoughts out of the history,
        and a model that learned to reply like that would not think.
        """
        wanted: dict[str, Any] = {"tools": lesson.tools}
        if lesson.thinking:
            wanted["enable_thinking"] = True
        prompt = self.template.render(messages=lesson.messages, add_generation_prompt=True, **wanted)
        whole = self.template.render(messages=[*lesson.messages, lesson.reply], **wanted).rstrip("\n")
        if not whole.startswith(prompt):
            raise ValueError(f"the template does not render the reply directly after its prompt: {whole!r}")
        if lesson.thinking:
            return [prompt, whole[len(prompt) :]]
        return [piece for piece in MODEL_TURN.split(whole) if piece]


def make_tokenizer(texts: list[str], vocabulary: int) -> tokenizers.Tokenizer:
    """Learn a byte-level BPE vocabulary from the corpus."""
    special = [*CONTROL_TOKENS, *MARKUP_TOKENS]
    tokenizer = tokenizers.Tokenizer(models.BPE())
    cuts = pre_tokenizers.Split(tokenizers.Regex(QWEN2_SPLIT_PATTERN), "isolated")
    in_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([cuts, in_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(special), initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens([tokenizers.AddedToken(token, special=True) for token in special])
    return tokenizer


def tokenized(pieces: list[str], tokenizer: tokenizers.Tokenizer) -> Row:
    """Tokenize prompts and replies. Only the tokens of replies are targets, at the position before them."""
    tokens: list[int] = []
    learned: list[bool] = []
    for index, piece in enumerate(pieces):
        ids = tokenizer.encode(piece).ids
        tokens += ids
        learned += [index % 2 == 1] * len(ids)
    wanted = [token if learn else IGNORED for token, learn in zip(tokens, learned, strict=True)]
    return Row(tokens, [*wanted[1:], IGNORED])


# ---- training ----------------------------------------------------------------


def batches(rows: list[Row], tokens_at_once: int, rng: random.Random) -> list[list[Row]]:
    """Group rows of similar length, to reduce padding, with a new random order each time."""
    by_length = sorted(rows, key=lambda row: len(row.tokens) + rng.uniform(0, 8))
    groups: list[list[Row]] = [[]]
    for row in by_length:  # each row is about as long as the longest of its group
        if len(groups[-1]) * len(row.tokens) >= tokens_at_once:
            groups.append([])
        groups[-1].append(row)
    rng.shuffle(groups)
    return groups


def padded(rows: list[Row]) -> tuple[Tensor, Tensor]:
    """Pad rows to one length. Returns tokens and targets."""
    longest = max(len(row.tokens) for row in rows)
    tokens = torch.zeros(len(rows), longest, dtype=torch.long)
    wanted = torch.full((len(rows), longest), IGNORED)
    for index, row in enumerate(rows):
        tokens[index, : len(row.tokens)] = torch.tensor(row.tokens)
        wanted[index, : len(row.tokens)] = torch.tensor(row.wanted)
    return tokens, wanted


def endless(rows: list[Row], tokens_at_once: int, rng: random.Random) -> Iterator[list[Row]]:
    """Batches of all rows, repeated without end."""
    while True:
        yield from batches(rows, tokens_at_once, rng)


def make_optimizers(model: DemoModel) -> list[torch.optim.Optimizer]:
    """Muon for the matrices within the layers, which saves a third of the steps, and AdamW for the rest."""
    inner = {name for name, weight in model.named_parameters() if name.startswith("blk") and weight.ndim == 2}
    matrices = [weight for name, weight in model.named_parameters() if name in inner]
    others = [weight for name, weight in model.named_parameters() if name not in inner]
    return [
        torch.optim.Muon(matrices, lr=2e-2, weight_decay=0.01),
        torch.optim.AdamW(others, lr=4e-3, betas=(0.9, 0.98), weight_decay=0.01),
    ]


def make_schedule(optimizer: torch.optim.Optimizer, steps: int) -> torch.optim.lr_scheduler.LRScheduler:
    """A learning rate that rises quickly to its maximum and then falls slowly to zero."""
    return torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        [group["lr"] for group in optimizer.param_groups],
        total_steps=steps,
        pct_start=0.08,
        cycle_momentum=False,
    )


def train(model: DemoModel, rows: list[Row], options: argparse.Namespace) -> None:
    """Train for the given number of steps."""
    optimizers = make_optimizers(model)
    schedules = [make_schedule(optimizer, options.steps) for optimizer in optimizers]
    rng = random.Random(options.seed)  # noqa: S311 - a fixed sequence, no secret
    supply = endless(rows, options.batch, rng)
    began, recent = time.monotonic(), 0.0
    for step in range(1, options.steps + 1):
        tokens, wanted = padded(next(supply))
        loss = functional.cross_entropy(model(tokens).flatten(0, 1), wanted.flatten(), ignore_index=IGNORED)
        model.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, schedule in zip(optimizers, schedules, strict=True):
            optimizer.step()
            schedule.step()
        recent = loss.item() if step == 1 else 0.95 * recent + 0.05 * loss.item()
        if step % 50 == 0 or step == options.steps:
            seconds = time.monotonic() - began
            print(f"step {step} of {options.steps}, loss {recent:.4f}, {seconds:.0f} s", flush=True)


def wrong_answers(model: DemoModel, rows: list[Row]) -> list[int]:
    """The indices of the rows that the model does not answer exactly.

    All replies are scored at once, each token after the right ones before it. When every token is the
    likeliest, this is just what greedy decoding would write.
    """
    wrong = []
    with torch.inference_mode():
        for index, row in enumerate(rows):
            likeliest = model(torch.tensor([row.tokens]))[0].argmax(-1)
            wanted = torch.tensor(row.wanted)
            if (likeliest != wanted)[wanted != IGNORED].any():
                wrong.append(index)
    return wrong


# ---- the file ----------------------------------------------------------------


def packed(weight: Tensor, file_type: str) -> tuple[NDArray[Any], gguf.GGMLQuantizationType]:
    """Convert a weight to its form in the file. Vectors are never quantized."""
    kind = FILE_TYPES[file_type] if weight.ndim == 2 else gguf.GGMLQuantizationType.F32
    return gguf.quants.quantize(weight.detach().numpy().astype(np.float32), kind), kind


def quantize(model: DemoModel, file_type: str) -> None:
    """Round the weights to the values in the file, so that the test applies to the file."""
    for weight in model.parameters():
        data, kind = packed(weight, file_type)
        weight.data = torch.from_numpy(gguf.quants.dequantize(data, kind).reshape(weight.shape).copy())


def write_description(writer: gguf.GGUFWriter, shape: Shape) -> None:
    """Write the name, the licence and the shape of the model."""
    writer.add_name("Stoker demo")
    writer.add_author("The Stoker project")
    writer.add_license("apache-2.0")
    writer.add_description("A tiny chat model that knows its corpus by heart, made for demos and tests.")
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.hidden)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_width)
    writer.add_value_length(shape.head_width)
    writer.add_rope_dimension_count(shape.head_width)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(shape.epsilon)


def token_type(token: str) -> gguf.TokenType:
    """The GGUF type of a token: text, control (hidden by engines) or markup (shown by engines)."""
    if token in CONTROL_TOKENS:
        return gguf.TokenType.CONTROL
    return gguf.TokenType.USER_DEFINED if token in MARKUP_TOKENS else gguf.TokenType.NORMAL


def write_tokenizer(writer: gguf.GGUFWriter, tokenizer: tokenizers.Tokenizer) -> None:
    """Write the vocabulary, the merges and the chat template."""
    ids = tokenizer.get_vocab()
    tokens = sorted(ids, key=lambda token: ids[token])
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([token_type(token) for token in tokens])
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(ids[END_OF_TEXT])
    writer.add_eos_token_id(ids[END_OF_TURN])
    writer.add_pad_token_id(ids[END_OF_TEXT])
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)


def write(path: Path, model: DemoModel, tokenizer: tokenizers.Tokenizer, file_type: str) -> None:
    """Write the GGUF file."""
    writer = gguf.GGUFWriter(path, "qwen3")
    write_description(writer, model.shape)
    write_tokenizer(writer, tokenizer)
    for name, weight in model.named_parameters():
        data, kind = packed(weight, file_type)
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# ---- the command -------------------------------------------------------------


def parse_options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Train the demo model and write it as a GGUF file.")
    parser.add_argument("path", type=Path, nargs="?", default=HERE.parent / "stoker-demo.gguf")
    parser.add_argument("--type", choices=FILE_TYPES, default="q8_0", help="how the file holds the weights")
    parser.add_argument("--steps", type=int, default=1300)
    parser.add_argument("--batch", type=int, default=3584, help="tokens in a step")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def main() -> int:
    """Train, test and write the model. Returns the exit code."""
    options = parse_options()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)

    template = ChatTemplate(TEMPLATE)
    lessons = [template.render(lesson) for lesson in corpus()]
    shape = Shape()
    tokenizer = make_tokenizer(["".join(pieces) for pieces in lessons], shape.vocabulary)
    rows = [tokenized(pieces, tokenizer) for pieces in lessons]
    model = DemoModel(shape)
    parameters = sum(weight.numel() for weight in model.parameters())
    tokens = sum(len(row.tokens) for row in rows)
    print(f"{parameters:,} parameters, {len(rows):,} lessons, {tokens:,} tokens", flush=True)

    train(model, rows, options)
    quantize(model, options.type)
    wrong = wrong_answers(model, rows)
    print(f"{len(rows) - len(wrong):,} of {len(rows):,} lessons are answered exactly")
    if wrong:
        for index in wrong[:10]:
            print(f"  missed: {''.join(lessons[index])!r}")
        print("nothing is written: train a little longer, or with another seed")
        return 1
    write(options.path, model, tokenizer, options.type)
    print(f"wrote {options.path}, {options.path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
