"""Forms that arrive in parts: their file is the same, however they are split."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.files.form import FormRules, UploadForm
from api.files.store import FileStore
from api.files.upload import store_file
from api.http.errors import ApiError, InvalidRequest
from api.inference.audio.schema import TranscriptionRequest
from api.inference.media.form_body import form_body
from config.settings import FileSettings

PURPOSE = b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
FILE = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
OTHER = b'--b\r\nContent-Disposition: form-data; name="other"; filename="o"\r\n\r\ndropped\r\n'
END = b"\r\n--b--\r\n"

contents = st.lists(st.sampled_from([b"\r", b"\n", b"-", b"b", b"--b", b"\r\n--", b"x"]), min_size=1).map(
    b"".join
)


def stored(folder: Path, body: bytes, cuts: list[int], max_file_bytes: int = 10_000) -> bytes:
    """The file of a form that arrives in parts, which end at the cuts."""
    store = FileStore(folder, FileSettings(keep_free_mib=0))
    rules = FormRules({"file": 1}, max_file_bytes, "files.max_file_bytes")
    form = UploadForm(b"b", rules, partial(store.begin, "one"), 0)
    try:
        for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True):
            form.feed(body[start:end])
        form.end()
        record = store_file(form, store)
        content = store.read("one", record.id)
        store.delete("one", record.id)
        return content
    finally:
        form.close()


@settings(max_examples=60)
@given(content=contents, parts=st.permutations([PURPOSE, OTHER]), data=st.data())
def test_a_file_is_the_same_however_its_form_is_split(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, parts: list[bytes], data: st.DataObject
) -> None:
    if any(line_end + b"--b" in b"\n" + content for line_end in (b"\r", b"\n")):  # it would end the part
        content = content.replace(b"--b", b"x")
    body = b"".join(parts) + FILE + content + END
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=8)))
    assert stored(tmp_path_factory.getbasetemp() / "forms", body, cuts) == content


@pytest.mark.parametrize("end", [END, b"\n--b--\n", b"\r\n--b--", b"\r\n--b-- \t\r\n"])
def test_a_boundary_that_is_split_anywhere_is_no_content(tmp_path: Path, end: bytes) -> None:
    for body in (PURPOSE + FILE + b"x" + end, FILE + b"x\r\n" + PURPOSE[:-2] + end):
        for cut in range(body.index(b"\r\n\r\nx"), len(body)):
            assert stored(tmp_path, body, [cut]) == b"x"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (PURPOSE + FILE + b"x" * 11 + END, "request_too_large"),
        (PURPOSE + FILE + b"x" * 5, "invalid_request"),
        (PURPOSE + FILE + b"x\r\n" + FILE + b"y" + END, "invalid_request"),
        (PURPOSE + OTHER + END[2:], "invalid_request"),
        (b"x" * 300_000, "invalid_request"),
        *[
            (
                PURPOSE + FILE + b"x\r\n" + b"--b\r\nContent-Disposition: " + line + b"\r\n\r\n{}" + END,
                "invalid_request",
            )
            for line in (b'form-data; name=""', b"form-data", b'form-data; filename="x"', b"attachment")
        ],
    ],
)
def test_a_form_that_is_wrong_leaves_no_file(tmp_path: Path, body: bytes, code: str) -> None:
    with pytest.raises(ApiError) as error:
        stored(tmp_path, body, [], max_file_bytes=10)
    assert error.value.code == code
    assert isinstance(error.value, InvalidRequest) == (code == "invalid_request")
    assert not list(tmp_path.glob("*/file-*"))


@given(
    lines=st.lists(
        st.builds(
            lambda kind, parameters: "; ".join([kind, *parameters]),
            st.sampled_from(["form-data", "attachment", ""]),
            st.lists(
                st.builds(
                    lambda name, value: f"{name}{value}",
                    st.sampled_from(["name=", "name*=", "name*0=", "filename=", "filename*=", "x="]),
                    st.sampled_from(
                        ['""', '"file"', "model", "utf-8''%ff%80", "UTF-16''a", '"a', "\\", ";", '"\x80"']
                    )
                    | st.text(
                        st.characters(exclude_characters="\r\n", exclude_categories=("Cs",)), max_size=5
                    ),
                ),
                max_size=3,
            ),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_the_head_of_a_part_is_read_or_refused_whatever_it_is(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    store = FileStore(tmp_path_factory.getbasetemp() / "heads", FileSettings(keep_free_mib=0))
    rules = FormRules({"file": 1}, 10_000, "files.max_media_bytes", hashed=True)
    form = UploadForm(b"b", rules, partial(store.begin, "one"), 0)
    try:
        with suppress(InvalidRequest):
            for line in lines:
                form.feed(b"--b\r\nContent-Disposition: " + line.encode() + b"\r\n\r\n{}\r\n")
            form.feed(b"--b--\r\n")
            form.end()
            form_body(form, TranscriptionRequest)
            assert len(form.digest) == 32
    finally:
        form.close()
