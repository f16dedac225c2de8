"""Signatures of callbacks: one flipped bit anywhere is enough to be refused, and a shell derives the same keys."""

import base64
import hashlib
import hmac
import subprocess
from collections.abc import Iterator
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Configuration
from holdfast.domain.callback import Token, read_token
from holdfast.domain.signature import (
    SignedHeaders,
    attempt_key,
    executor_secret,
    refuse_weak,
    sign,
    verify,
    verify_plain,
    weakness,
)
from world import strikes

MASTER = "a master key of more than thirty-two bytes"
SECRET = executor_secret(MASTER, "github")
TOKEN = Token(UUID("01890a5d-ac96-774b-bcce-b302099a8057"), 3, UUID("9f1c6e0e-7a36-4f41-9c0e-0a0b0c0d0e0f"))
NOW = 1_900_000_000
BODY = b'{"action":"completed"}'


def headers(signature: str, nonce: str = "cb_1", timestamp: object = NOW) -> SignedHeaders:
    return SignedHeaders(nonce, str(timestamp), signature)


SIGNATURE = sign(SECRET, TOKEN, "cb_1", NOW, BODY)


def test_what_was_signed_verifies() -> None:
    assert verify([SECRET], TOKEN, headers(SIGNATURE), BODY, NOW)


def test_a_flipped_bit_in_the_body_is_refused() -> None:
    for bit in range(len(BODY) * 8):
        changed = bytearray(BODY)
        changed[bit // 8] ^= 1 << bit % 8

        strikes.strike()
        assert not verify([SECRET], TOKEN, headers(SIGNATURE), bytes(changed), NOW)


def _flipped(text: str) -> Iterator[str]:
    """Give a text with each of its bits turned over, one at a time, as far as that is a text."""
    for bit in range(len(text) * 8):
        changed = bytearray(text.encode())
        changed[bit // 8] ^= 1 << bit % 8
        yield changed.decode("latin-1")


def test_a_flipped_bit_in_the_signature_is_refused() -> None:
    accepted = [
        changed for changed in _flipped(SIGNATURE) if verify([SECRET], TOKEN, headers(changed), BODY, NOW)
    ]

    assert accepted == []


def test_a_flipped_bit_in_the_nonce_or_the_time_is_refused() -> None:
    nonces = [
        nonce
        for nonce in _flipped("cb_1")
        if verify([SECRET], TOKEN, headers(SIGNATURE, nonce=nonce), BODY, NOW)
    ]
    moments = [
        moment
        for moment in _flipped(str(NOW))
        if verify([SECRET], TOKEN, headers(SIGNATURE, timestamp=moment), BODY, NOW)
    ]

    assert (nonces, moments) == ([], [])


@given(
    st.binary(max_size=200),
    st.text("abcXYZ_-09", min_size=1, max_size=30),
    st.integers(-300, 300),
    st.integers(1, 10_000),
)
def test_whatever_is_signed_verifies_within_five_minutes_before_and_behind(
    body: bytes, nonce: str, skew: int, attempt: int
) -> None:
    token = Token(TOKEN.job_id, attempt, TOKEN.claim_id)
    signed = sign(SECRET, token, nonce, NOW + skew, body)

    assert verify([SECRET], token, headers(signed, nonce=nonce, timestamp=NOW + skew), body, NOW)


@given(st.integers(0, 127), st.booleans())
def test_a_flipped_bit_in_the_token_is_refused(bit: int, in_job: bool) -> None:
    other = Token(
        UUID(int=TOKEN.job_id.int ^ (in_job << bit)), TOKEN.attempt, UUID(int=TOKEN.claim_id.int ^ ((not in_job) << bit))
    )  # fmt: skip

    assert not verify([SECRET], other, headers(SIGNATURE), BODY, NOW)


@given(st.integers(1, 10_000).filter(lambda attempt: attempt != 3))
def test_another_attempts_key_is_refused(attempt: int) -> None:
    assert not verify([SECRET], Token(TOKEN.job_id, attempt, TOKEN.claim_id), headers(SIGNATURE), BODY, NOW)


@given(st.text(max_size=300), st.text(max_size=30), st.text(max_size=500), st.binary(max_size=100))
def test_nothing_that_anybody_sends_verifies_or_breaks(
    nonce: str, timestamp: str, signature: str, body: bytes
) -> None:
    assert not verify([SECRET], TOKEN, SignedHeaders(nonce, timestamp, signature), body, NOW)


@pytest.mark.parametrize(
    ("skew", "accepted"), [(-301, False), (-300, True), (0, True), (300, True), (301, False)]
)
def test_a_signature_is_good_for_five_minutes_in_both_directions(skew: int, accepted: bool) -> None:
    assert verify([SECRET], TOKEN, headers(SIGNATURE), BODY, NOW + skew) is accepted


@pytest.mark.parametrize(
    "timestamp", ["", "now", "-1900000000", "1.9e9", "१९००००००००", "1" * 40, " 1900000000"]
)
def test_a_timestamp_is_a_plain_number(timestamp: str) -> None:
    signed = hmac.digest(attempt_key(SECRET, TOKEN), f"cb_1.{timestamp}.".encode() + BODY, "sha256")
    header = "v1," + base64.b64encode(signed).decode()

    assert not verify([SECRET], TOKEN, SignedHeaders("cb_1", timestamp, header), BODY, NOW)


@pytest.mark.parametrize("nonce", ["", "x" * 201, "a.b", "ü", "a\tb"])
def test_a_nonce_is_short_plain_and_has_no_dot(nonce: str) -> None:
    assert not verify([SECRET], TOKEN, headers(sign(SECRET, TOKEN, nonce, NOW, BODY), nonce), BODY, NOW)


def test_one_of_several_signatures_is_enough_and_unknown_schemes_are_ignored() -> None:
    listed = f"v0,AAAA v1,{base64.b64encode(bytes(32)).decode()} {SIGNATURE} v2,x"

    assert verify([SECRET], TOKEN, headers(listed), BODY, NOW)


def test_while_keys_overlap_both_are_accepted() -> None:
    new = executor_secret("another master key of thirty-two bytes", "github")

    assert verify([new, SECRET], TOKEN, headers(SIGNATURE), BODY, NOW)
    assert not verify([new], TOKEN, headers(SIGNATURE), BODY, NOW)


def test_every_executor_has_a_secret_of_its_own() -> None:
    assert executor_secret(MASTER, "github") != executor_secret(MASTER, "gitlab")
    assert SECRET.startswith("hfx_")
    assert weakness(SECRET) is None


def test_the_derivation_is_hkdf_of_rfc_5869() -> None:
    extracted = hmac.new(bytes(32), MASTER.encode(), hashlib.sha256).digest()
    expanded = hmac.new(extracted, b"holdfast executor github\x01", hashlib.sha256).digest()

    assert "hfx_" + expanded.hex() == SECRET


def test_a_shell_derives_the_same_key_with_openssl() -> None:
    script = """
    hex() { od -An -v -tx1 | tr -d ' \\n'; }
    counted() { printf '%s:%s' "${#1}" "$1"; }
    { counted 'holdfast callback v1'; counted "$2"; counted "$3"; counted "$4"; } |
      openssl dgst -sha256 -mac HMAC -macopt "hexkey:$(printf '%s' "$1" | hex)" -binary | hex
    """
    words = ["sh", "-c", script, "sh", SECRET, str(TOKEN.job_id), str(TOKEN.attempt), str(TOKEN.claim_id)]

    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout

    assert said == attempt_key(SECRET, TOKEN).hex()


@pytest.mark.parametrize("secret", ["", "short", "x" * 31, "x" * 64, "changeme" * 2])
def test_a_weak_secret_is_refused_with_advice(secret: str) -> None:
    with pytest.raises(Configuration, match="openssl rand -hex 32"):
        refuse_weak("HOLDFAST_SECRET_KEY", secret)


def test_the_plain_signature_covers_the_body_and_nothing_else() -> None:
    signature = hmac.new(SECRET.encode(), BODY, hashlib.sha256).hexdigest()

    assert verify_plain(["x" * 40, SECRET], signature, BODY)
    assert not verify_plain([SECRET], signature, BODY + b" ")
    assert not verify_plain([SECRET], "", BODY)
    assert not verify_plain([SECRET], "zz", BODY)


@pytest.mark.parametrize(
    "path",
    [
        ("01890A5D-AC96-774B-BCCE-B302099A8057", "3", str(TOKEN.claim_id)),
        (TOKEN.job_id.hex, "3", str(TOKEN.claim_id)),
        (str(TOKEN.job_id), "03", str(TOKEN.claim_id)),
        (str(TOKEN.job_id), "+3", str(TOKEN.claim_id)),
        (str(TOKEN.job_id), "3", "x"),
        (str(TOKEN.job_id), "३", str(TOKEN.claim_id)),
    ],
)
def test_a_token_has_one_spelling(path: tuple[str, str, str]) -> None:
    assert read_token(*path) is None
    assert read_token(str(TOKEN.job_id), "3", str(TOKEN.claim_id)) == TOKEN
