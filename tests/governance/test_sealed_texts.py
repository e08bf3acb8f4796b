"""A sealed text is read only as it was made, under the same secret and for the same owner."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from governance.cache_namespaces import CacheNamespaces
from governance.sealed_texts import FORM, UnreadableError, seal, unseal


def key_of(secret: bytes, purpose: bytes = b"test\n") -> bytes:
    namespaces = CacheNamespaces()
    namespaces.adopt(secret, {})
    key = namespaces.derived_key(purpose)
    assert key is not None
    return key


KEY = key_of(b"secret")
SEALED = seal(KEY, b"acme", "The user wants a poem.")


@given(st.text(st.characters(exclude_categories=["Cs"])), st.binary(max_size=20))
@settings(max_examples=30)
def test_text_is_read_again_and_sealed_equally(text: str, owner: bytes) -> None:
    sealed = seal(KEY, owner, text)
    assert unseal(KEY, owner, sealed) == text
    assert sealed == seal(KEY, owner, text)
    assert sealed.isascii()


def test_sealed_text_of_another_owner_secret_or_purpose_is_refused() -> None:
    for key, owner in (
        (KEY, b"other"),
        (key_of(b"another secret"), b"acme"),
        (key_of(b"secret", b"other\n"), b"acme"),
    ):
        assert seal(key, owner, "The user wants a poem.") != SEALED
        with pytest.raises(UnreadableError):
            unseal(key, owner, SEALED)


@pytest.mark.parametrize(
    "changed", ["", FORM, f"{FORM}AAAA", "v2." + SEALED[3:], SEALED[:-4], f"{SEALED}\n", "ü"]
)
def test_text_of_another_form_is_refused(changed: str) -> None:
    with pytest.raises(UnreadableError):
        unseal(KEY, b"acme", changed)


def test_every_change_of_a_character_is_noticed() -> None:
    for place in range(len(SEALED) - 2):  # bits beyond the last byte are none of the text
        other = "A" if SEALED[place] != "A" else "B"
        with pytest.raises(UnreadableError):
            unseal(KEY, b"acme", SEALED[:place] + other + SEALED[place + 1 :])


def test_no_key_follows_from_a_secret_that_was_not_read() -> None:
    assert CacheNamespaces().derived_key(b"test\n") is None
