"""Payloads under keys: who can read them, and what they are bound to."""

import base64
import json
import os
from dataclasses import replace
from uuid import uuid4

import pytest

from holdfast import Configuration, Keys, Undecipherable
from holdfast.domain.encryption import Bond, envelope_of, is_sealed, shown

KEY = os.urandom(32)
BOND = Bond("acme", uuid4(), "pay")
TEXT = '{"card": "4111"}'


def test_what_was_sealed_is_opened_and_nothing_of_it_stands_there() -> None:
    stored = Keys({"a": KEY}).seal(TEXT, BOND)

    assert is_sealed(stored)
    assert is_sealed(json.dumps(json.loads(stored)))  # as the database writes it
    assert not is_sealed(TEXT)
    assert "4111" not in stored
    assert Keys({"a": base64.b64encode(KEY).decode()}).open(envelope_of(stored), BOND) == TEXT
    assert shown(json.loads(stored)) == {"$encrypted": {"key": "a"}}


@pytest.mark.parametrize(
    "other",
    [
        replace(BOND, tenant="globex"),
        replace(BOND, tenant=None),
        replace(BOND, job=uuid4()),
        replace(BOND, task="p"),
    ],
)
def test_it_opens_for_no_other_tenant_job_or_task(other: Bond) -> None:
    keys = Keys({"a": KEY})

    with pytest.raises(Undecipherable, match="not written for"):
        keys.open(envelope_of(keys.seal(TEXT, BOND)), other)


@pytest.mark.parametrize("member", ["nonce", "text"])
@pytest.mark.parametrize("forged", ["AAAA", "no base64!", None, 1])
def test_a_forged_envelope_does_not_open(member: str, forged: object) -> None:
    keys = Keys({"a": KEY})

    with pytest.raises(Undecipherable):
        keys.open({**envelope_of(keys.seal(TEXT, BOND)), member: forged}, BOND)


def test_a_new_key_seals_and_the_old_one_still_opens() -> None:
    old = Keys({"2025": KEY})
    both = Keys.read(
        f"2026:{base64.b64encode(os.urandom(32)).decode()},\n2025:{base64.b64encode(KEY).decode()}"
    )

    assert both.open(envelope_of(old.seal(TEXT, BOND)), BOND) == TEXT
    with pytest.raises(Undecipherable, match="2026"):
        old.open(envelope_of(both.seal(TEXT, BOND)), BOND)


def test_a_repeat_is_the_same_text_and_every_other_payload_another() -> None:
    keys = Keys({"a": KEY})

    assert keys.seal(TEXT, BOND) == keys.seal(TEXT, BOND)
    nonces = {
        envelope_of(keys.seal(text, bond))["nonce"]
        for text in (TEXT, "{}")
        for bond in (BOND, replace(BOND, job=uuid4()))
    }
    assert len(nonces) == 4


@pytest.mark.parametrize(
    "key", [b"", b"short", bytes(32), b"ab" * 16, "not base64", base64.b64encode(b"x").decode()]
)
def test_a_weak_key_is_refused_without_being_told(key: str | bytes) -> None:
    with pytest.raises(Configuration, match="32 random bytes") as refused:
        Keys({"a": key})

    assert not key or str(key) not in str(refused.value)


def test_keys_have_names_and_are_not_shown() -> None:
    with pytest.raises(Configuration, match="at least one"):
        Keys({})
    with pytest.raises(Configuration, match="is called"):
        Keys({"a b": KEY})
    assert repr(Keys({"a": KEY})) == "Keys(a)"
