"""The fields of forms as the values of a schema."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from api.files.form import FormRules, UploadForm
from api.files.store import FileStore
from api.http.errors import InvalidRequest
from api.inference.audio.schema import TranscriptionRequest
from api.inference.images.schema import ImageRequest
from api.inference.media.form_body import form_body
from config.settings import FileSettings


def form(folder: Path, *fields: tuple[str, str]) -> UploadForm:
    store = FileStore(folder, FileSettings(keep_free_mib=0))
    rules = FormRules({"file": 1}, 1000, "files.max_media_bytes", hashed=True)
    parts = [
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n' for name, text in fields
    ]
    made = UploadForm(b"b", rules, partial(store.begin, "one"), 0)
    made.feed("".join(parts).encode() + b"--b--\r\n")
    made.end()
    made.close()
    return made


def test_texts_become_the_values_of_the_schema(tmp_path: Path) -> None:
    body = form_body(
        form(
            tmp_path,
            ("model", "m"),
            ("temperature", "0.5"),
            ("stream", "True"),
            ("timestamp_granularities[]", "word"),
            ("timestamp_granularities[]", "segment"),
            ("unlisted", "x"),
        ),
        TranscriptionRequest,
    )
    assert body == {
        "model": "m",
        "temperature": 0.5,
        "stream": True,
        "timestamp_granularities": ["word", "segment"],
    }


def test_lists_are_taken_with_and_without_brackets(tmp_path: Path) -> None:
    made = form(tmp_path, ("model", "m"), ("timestamp_granularities", "word"))
    assert form_body(made, TranscriptionRequest)["timestamp_granularities"] == ["word"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("temperature", "warm"),
        ("temperature", "nan"),
        ("temperature", "2"),
        ("temperature", "1e999"),
        ("stream", "perhaps"),
        ("response_format", "xml"),
        ("timestamp_granularities[]", "letter"),
        ("prompt", "x" * 5000),
    ],
)
def test_a_text_that_is_no_value_is_refused_with_its_field(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        form_body(form(tmp_path, ("model", "m"), (name, text)), TranscriptionRequest)
    assert (refused.value.param or "").startswith(name.removesuffix("[]"))


@pytest.mark.parametrize("fields", [[("model", "m"), ("model", "n")], [("prompt", "x")]])
def test_a_repeated_or_missing_field_is_refused(tmp_path: Path, fields: list[tuple[str, str]]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        form_body(form(tmp_path, *fields), ImageRequest)
    assert refused.value.param == "model"


def test_the_hash_of_a_form_is_that_of_its_fields_and_files(tmp_path: Path) -> None:
    one, same, other = (form(tmp_path, ("model", "m"), ("prompt", text)).digest for text in ("x", "x", "y"))
    assert one == same != other
