"""Bodies with a Content-Encoding: decoded within the bound, or refused with the encoding's name."""

from __future__ import annotations

import gzip
import importlib
import json
import os
import tracemalloc
import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]
import pytest
from flask.testing import FlaskClient

from api.http.content_encoding import MAX_ENCODINGS, MAX_MEMBERS, decode_body, decoders
from api.http.errors import ApiError

zstd = importlib.import_module("backports.zstd")

BODY = json.dumps({"model": "demo", "input": "Hi."}).encode()
LIMIT = 1_000_000
MORE = b"[" + b" " * (LIMIT + 1) + b"]"


def raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(data) + compressor.flush()


ENCODERS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("x-gzip", gzip.compress),
    ("GZip", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", raw_deflate),
    ("zstd", zstd.compress),
    ("br", brotli.compress),
    ("identity", bytes),
    ("", bytes),
    ("identity, gzip", gzip.compress),
    ("gzip, br", lambda data: brotli.compress(gzip.compress(data))),
    ("br,zstd , deflate", lambda data: zlib.compress(zstd.compress(brotli.compress(data)))),
    ("gzip", lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:])),
    ("zstd", lambda data: zstd.compress(data[:9]) + zstd.compress(data[9:])),
]
COMPRESSING = [(name, encode) for name, encode in ENCODERS if encode is not bytes]


@pytest.mark.parametrize(("name", "encode"), ENCODERS)
def test_an_encoded_body_is_decoded(http: FlaskClient, name: str, encode: Callable[[bytes], bytes]) -> None:
    headers = {"Content-Encoding": name, "Content-Type": "application/json"}
    answer = http.post("/v1/responses", data=encode(BODY), headers=headers)
    assert (answer.status_code, answer.json["status"]) == (200, "completed")


@pytest.mark.parametrize(("name", "encode"), ENCODERS)
def test_a_body_is_bounded_after_decoding(name: str, encode: Callable[[bytes], bytes]) -> None:
    exact = os.urandom(1000) * (LIMIT // 1000)
    assert decode_body(encode(exact), name, LIMIT) == exact
    if encode is not bytes:
        with pytest.raises(ApiError) as caught:
            decode_body(encode(MORE), name, LIMIT)
        assert caught.value.code == "request_too_large"


@pytest.mark.parametrize(("name", "encode"), COMPRESSING)
def test_a_bomb_takes_no_more_memory_than_a_body(name: str, encode: Callable[[bytes], bytes]) -> None:
    bomb = encode(b"\0" * (32 * LIMIT))
    assert len(bomb) < LIMIT
    tracemalloc.start()
    try:
        with pytest.raises(ApiError):
            decode_body(bomb, name, LIMIT)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * LIMIT


@pytest.mark.parametrize(("name", "encode"), COMPRESSING)
def test_a_body_that_is_cut_off_or_not_of_its_encoding_is_refused(
    name: str, encode: Callable[[bytes], bytes]
) -> None:
    whole = encode(BODY)
    for body in (whole[:-5], whole[: len(whole) // 2], b"", BODY, b"\0" * 40):
        with pytest.raises(ApiError) as caught:
            decode_body(body, name, LIMIT)
        assert caught.value.code == "invalid_request"
        assert "the body is not valid" in caught.value.message


@pytest.mark.parametrize("name", ["compress", "aws-chunked", "gzip, secret", "x" * 500, "*", "gzip;q=1"])
def test_an_unknown_encoding_is_refused_by_its_name(http: FlaskClient, name: str) -> None:
    headers = {"Content-Encoding": name, "Content-Type": "application/json"}
    answer = http.post("/v1/responses", data=BODY, headers=headers)
    error = answer.json["error"]
    assert (answer.status_code, error["code"]) == (415, "unsupported_media_type")
    assert name.rpartition(", ")[2][:32] in error["message"]
    assert all(known in error["message"] for known in decoders())


def test_the_number_of_encodings_and_of_members_is_bounded() -> None:
    with pytest.raises(ApiError) as caught:
        decode_body(BODY, ", ".join(["gzip"] * (MAX_ENCODINGS + 1)), LIMIT)
    assert caught.value.code == "unsupported_media_type"
    with pytest.raises(ApiError):
        decode_body(gzip.compress(b"a") * (MAX_MEMBERS + 1), "gzip", LIMIT)


def test_zstd_with_a_window_that_is_larger_than_bodies_is_refused() -> None:
    options = {zstd.CompressionParameter.window_log: 27, zstd.CompressionParameter.compression_level: 1}
    compressor = zstd.ZstdCompressor(options=options)
    body = compressor.compress(BODY) + compressor.flush()
    with pytest.raises(ApiError):
        decode_body(body, "zstd", LIMIT)


def test_the_key_is_checked_before_a_body_is_decoded(http: FlaskClient) -> None:
    headers = {
        "Authorization": "Bearer wrong", "Content-Encoding": "gzip", "Content-Type": "application/json",
    }  # fmt: skip
    assert http.post("/v1/responses", data=b"no gzip", headers=headers).status_code == 401


def test_the_same_body_repeats_a_request_in_any_encoding(http: FlaskClient) -> None:
    ids = [
        http.post(
            "/v1/responses",
            data=encode(BODY),
            headers={"Idempotency-Key": "k", "Content-Encoding": name, "Content-Type": "application/json"},
        ).json["id"]
        for name, encode in (("gzip", gzip.compress), ("br", brotli.compress), ("identity", bytes))
    ]
    assert len(set(ids)) == 1
