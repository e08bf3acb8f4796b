"""The choice of a model's files by their names and sizes."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.adding.choice import (
    NoChoice,
    Room,
    choose_variant,
    find_draft,
    find_projector,
    label_of,
    variants_of,
)
from fleet.hub_cache import parts

GIB = 1 << 30


class File(NamedTuple):
    name: str
    size: int = GIB


QWEN = [
    File(f"Qwen3-8B-{label}.gguf", size * GIB)
    for label, size in (("Q2_K", 3), ("Q4_K_M", 5), ("Q6_K", 7), ("Q8_0", 8), ("BF16", 16))
]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("Qwen3-8B-Q4_K_M.gguf", "Q4_K_M"),
        ("qwen2.5-7b-instruct-q4_k_m-00001-of-00002.gguf", "Q4_K_M"),
        ("gemma-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("m.i1-IQ3_XXS.gguf", "IQ3_XXS"),
        ("BF16/m-00001-of-00002.gguf", "BF16"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("llama-2-7b.Q4_0.gguf", "Q4_0"),
        ("m-f16.gguf", "F16"),
        ("model.gguf", None),
        ("Q4.md", "Q4"),
    ],
)
def test_the_label_is_in_the_name(name: str, label: str | None) -> None:
    assert label_of(name) == label


@pytest.mark.parametrize(
    ("asked", "room", "label"),
    [
        (None, None, "Q4_K_M"),
        (None, Room(80_000, 80_000), "Q4_K_M"),
        (None, Room(4_000, 80_000), "Q2_K"),
        (None, Room(1_000, 80_000), "Q4_K_M"),
        (None, Room(1_000, 4_000), "Q2_K"),
        (None, Room(1_000, 1_000), "Q2_K"),
        ("q8_0", Room(1, 1), "Q8_0"),
        ("bf16", None, "BF16"),
        ("Qwen3-8B-Q6_K.gguf", None, "Q6_K"),
    ],
)
def test_a_variant_is_chosen_by_its_quantization_or_by_the_memory(
    asked: str | None, room: Room | None, label: str
) -> None:
    choice = choose_variant(variants_of(QWEN), asked, room)
    assert choice.variant.label == label
    assert choice.reason


def test_without_q4_k_m_the_largest_one_up_to_q8_0_is_chosen() -> None:
    files = [file for file in QWEN if "Q4" not in file.name]
    assert choose_variant(variants_of(files), None, Room(80_000, 80_000)).variant.label == "Q8_0"


def test_a_quantization_without_a_file_is_refused_with_the_labels_that_exist() -> None:
    with pytest.raises(NoChoice, match="no Q3_K_S: choose one of Q2_K, Q4_K_M, Q6_K, Q8_0, BF16"):
        choose_variant(variants_of(QWEN), "Q3_K_S", None)
    with pytest.raises(NoChoice, match="no complete GGUF model"):
        choose_variant([], None, None)


def test_parts_are_one_model_if_all_are_there() -> None:
    complete = [File(f"m-Q4_0-0000{part}-of-00002.gguf") for part in (1, 2)]
    (variant,) = variants_of([*complete, File("m-Q8_0-00001-of-00002.gguf")])
    assert (variant.label, variant.bytes, variant.name) == ("Q4_0", 2 * GIB, complete[0].name)


def test_companions_are_no_models_and_the_nearest_ones_belong_to_a_model() -> None:
    files = [
        *QWEN,
        File("mmproj-Qwen3-8B-F32.gguf"),
        File("mmproj-Qwen3-8B-BF16.gguf"),
        File("mmproj-Qwen3-8B-F16.gguf"),
        File("mtp-Qwen3-8B-Q8_0.gguf"),
        File("eagle3-Qwen3-8B.gguf"),
        File("Qwen3-8B.imatrix.gguf"),
        File("other/mmproj-F16.gguf"),
    ]
    assert len(variants_of(files)) == len(QWEN)
    projector, draft = find_projector(files, QWEN[1].name), find_draft(files, QWEN[1].name)
    assert projector is not None
    assert draft is not None
    assert (projector.name, draft.name) == ("mmproj-Qwen3-8B-F16.gguf", "mtp-Qwen3-8B-Q8_0.gguf")


def test_a_companion_in_a_folder_of_several_models_names_its_own() -> None:
    files = [*QWEN, File("Llama-3-Q4_K_M.gguf"), File("mmproj-F16.gguf"), File("Llama-3-draft.gguf")]
    assert find_projector(files, "Llama-3-Q4_K_M.gguf") is None
    assert find_draft(files, QWEN[0].name) is None
    assert find_draft(files, "Llama-3-Q4_K_M.gguf") == File("Llama-3-draft.gguf")


NAMES = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.sampled_from(
            [
                *("m-Q4_K_M.gguf", "mmproj.gguf", "draft.gguf", ".gguf", "/", "a/b-00001-of-00003.gguf"),
                *("-00001-of-00001.gguf", "m-00000-of-00000.gguf", "m-00001-of-99999.gguf", "..gguf"),
            ]
        ),
    ),
    max_size=12,
    unique=True,
)


@given(
    NAMES,
    st.integers(0, 2**42),
    st.one_of(st.none(), st.builds(Room, st.integers(0, 10**6), st.integers(0, 10**6))),
)
def test_whatever_the_files_are_called_a_choice_is_a_model_of_them(
    names: list[str], size: int, room: Room | None
) -> None:
    files = [File(name, size) for name in names]
    variants = variants_of(files)
    for variant in variants:
        assert [file.name for file in variant.files] == parts(variant.name)
        assert set(variant.files) <= set(files)
        for companion in (find_projector(files, variant.name), find_draft(files, variant.name)):
            assert companion is None or (companion in files and companion not in variant.files)
    if variants:
        assert choose_variant(variants, None, room).variant in variants
