"""Keys of whatever comes: of payloads, of limits and of the API, beside slower and simpler readers of the same rules."""

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from holdfast.domain.access import read_key
from holdfast.runtime.access import new_key
from sql.support import Machine
from world.often import times, within


class Number(str):
    """A number as somebody wrote it."""

    __slots__ = ()


# -- what JSON looks like ------------------------------------------------------------------------------------------------

# As they sort by their length in bytes and then by their bytes: "ü" has two, and so has "ab".
NAMES = st.sampled_from(["", "a", "b", "A", "ab", "ü", "{a}", "a b", "tenant", '"', "😀", "aaa"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
NUMBERS = st.builds(
    lambda *parts: Number("".join(parts)),
    st.sampled_from(["", "-"]),
    st.integers(0, 10**20).map(str),
    st.sampled_from(["", ".0", ".50", ".000001", ".12345678901234567890"]),
    st.sampled_from(["", "e0", "E2", "e-3", "e+21", "E-30"]),
)
FEW_NUMBERS = st.sampled_from(["0", "-0", "0.0", "1", "1.0", "10e-1", "1e0", "12", "1.2E1"]).map(Number)
LEAVES = st.one_of(st.none(), st.booleans(), FEW_NUMBERS, NUMBERS, st.sampled_from(["1", "a", ""]), TEXTS)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)
PAYLOADS = st.dictionaries(st.one_of(NAMES, NAMES, NAMES, TEXTS), VALUES, min_size=1, max_size=5)
FIELDS: st.SearchStrategy[list[str]] = st.just([]) | st.lists(NAMES, min_size=3, max_size=6)

WRITTEN_OUT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def spelled(value: Any, chance: random.Random) -> str:
    """Write JSON as some program might: members in any order, white space and escapes anywhere."""
    match value:
        case dict():
            members = [f"{spelled(name, chance)}:{spelled(each, chance)}" for name, each in value.items()]
            chance.shuffle(members)
            written = "{" + ",".join(members) + "}"
        case list():
            written = "[" + ",".join(spelled(each, chance) for each in value) + "]"
        case Number():
            written = value
        case str():
            written = '"' + "".join(spelled_letter(letter, chance) for letter in value) + '"'
        case _:
            written = json.dumps(value)
    return blank(chance) + written + blank(chance)


def blank(chance: random.Random) -> str:
    return "".join(chance.choices(" \t\r\n", k=chance.choice([0, 0, 0, 1, 2])))


def spelled_letter(letter: str, chance: random.Random) -> str:
    if letter in WRITTEN_OUT and chance.random() < 0.5:
        return WRITTEN_OUT[letter]
    if letter in WRITTEN_OUT or letter < " " or chance.random() < 0.3:
        pairs = letter.encode("utf-16-be")
        return "".join(f"\\u{pairs[at]:02X}{pairs[at + 1]:02x}" for at in range(0, len(pairs), 2))
    return letter


# -- a reader of its own -------------------------------------------------------------------------------------------------


def as_jsonb_writes(value: Any) -> str:
    """Write JSON in the one form that equal values have, but for the places of numbers."""
    match value:
        case dict():
            names = sorted(value, key=lambda name: (len(name.encode()), name.encode()))
            return "{" + ", ".join(f"{quoted(name)}: {as_jsonb_writes(value[name])}" for name in names) + "}"
        case list():
            return "[" + ", ".join(map(as_jsonb_writes, value)) + "]"
        case Number():
            return in_full(value)
        case str():
            return quoted(value)
        case _:
            return json.dumps(value)


def quoted(text: str) -> str:
    return '"' + "".join(WRITTEN_OUT.get(c) or (c if c >= " " else f"\\u{ord(c):04x}") for c in text) + '"'


def in_full(number: str) -> str:
    """Write a number without an exponent, with as many places behind the point as it came with."""
    written = f"{Decimal(number):f}"
    return written if Decimal(number) else written.removeprefix("-")


def key_in_python(payload: dict[str, Any], fields: Sequence[str]) -> str:
    counts = {name: payload.get(name) for name in fields} if fields else payload
    return "payload:" + hashlib.sha256(as_jsonb_writes(counts).encode()).hexdigest()


KEY_OF = "select holdfast.key_of(%s::text::jsonb, %s)"
tried_often = settings(
    max_examples=times(100, 20_000), database=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.timeout(within(900))
def test_a_payload_has_one_key_however_it_is_written(machine: Machine) -> None:
    partly = 0

    @given(payload=PAYLOADS, fields=FIELDS, seed=st.integers(0, 2**32))
    @tried_often
    def agrees(payload: dict[str, Any], fields: list[str], seed: int) -> None:
        nonlocal partly
        chance = random.Random(seed)
        documents = [spelled(payload, chance) for _ in range(2)]

        keys = [machine.value(KEY_OF, document, Jsonb(fields)) for document in documents]

        assert keys == [key_in_python(payload, fields)] * 2, documents
        partly += not set(fields).isdisjoint(payload)

    agrees()

    assert partly > times(10, 2_000)


# Few, so that two of them are often alike.
FEW_NAMES = st.sampled_from(["a", "b", "A"])
FEW_VALUES = st.one_of(
    FEW_NUMBERS, st.sampled_from(["1", "", "null"]), st.lists(FEW_NUMBERS, max_size=1), st.none()
)
FEW = st.fixed_dictionaries({"a": FEW_VALUES}, optional={"b": FEW_VALUES, "A": FEW_VALUES})
A_CHANGE = st.dictionaries(FEW_NAMES, FEW_VALUES, min_size=1, max_size=1)


@pytest.mark.timeout(within(900))
def test_two_payloads_have_one_key_only_if_they_are_equal_in_every_field_that_counts(
    machine: Machine,
) -> None:
    alike = apart = 0

    @given(
        one=FEW,
        change=A_CHANGE,
        looks_the_same=st.booleans(),
        fields=st.just([]) | st.lists(FEW_NAMES, min_size=1, max_size=3),
        seed=st.integers(0, 2**32),
    )
    @tried_often
    def agrees(
        one: dict[str, Any], change: dict[str, Any], fields: list[str], seed: int, *, looks_the_same: bool
    ) -> None:
        nonlocal alike, apart
        chance = random.Random(seed)
        other = {name: as_text(value) for name, value in one.items()} if looks_the_same else {**one, **change}
        documents = [spelled(payload, chance) for payload in (one, other)]

        told = machine.one(
            "select holdfast.key_of(o.one, f.fields) is not distinct from holdfast.key_of(o.other, f.fields) as have_one_key,"
            "       case when f.fields = '[]' then o.one = o.other"
            "            else (select bool_and(coalesce(o.one -> n, 'null') = coalesce(o.other -> n, 'null')) from jsonb_array_elements_text(f.fields) as n)"
            "       end as are_equal"
            "  from (select %s::text::jsonb as one, %s::text::jsonb as other) as o, (select %s::jsonb as fields) as f",
            *documents, Jsonb(fields),
        )  # fmt: skip

        assert told["are_equal"] or not told["have_one_key"], documents
        alike += told["have_one_key"]
        apart += not told["are_equal"]

    agrees()

    assert alike > times(10, 2_000)
    assert apart > times(10, 2_000)


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ("1", "1.0", False),
        ("1.0", "1.00", False),
        ("100", "1e2", True),
        ("0", "-0", True),
        ("10e-1", "1.0", True),
    ],
)
def test_numbers_count_with_their_places(machine: Machine, one: str, other: str, is_one: bool) -> None:
    keys = {machine.value(KEY_OF, f'{{"n": {number}}}', Jsonb([])) for number in (one, other)}

    assert (len(keys) == 1) is is_one


# -- keys of limits and rates --------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    ["{", "}", "{}", "{a}", "{b}", "{ab}", "{tenant}", "{subject}", "{Tenant}", "{a b}", "{ü}", "{{a}}", "a", "b", "user:", "😀", "\n", "%", "\\", "'"]
)  # fmt: skip
TEMPLATES = st.lists(PIECES | TEXTS, max_size=6).map("".join)
LONG = st.integers(490, 650).map("x".__mul__)
OF_THE_JOB = st.none() | st.sampled_from(["acme", "{a}", "", "tenant"])


def filled_in_python(template: str, payload: dict[str, Any], job: dict[str, str | None]) -> str:
    key = "".join(parts_of(template, payload, job))
    return (
        key
        if len(key) <= 500
        else key[:400] + ":" + hashlib.md5(key.encode(), usedforsecurity=False).hexdigest()
    )


def parts_of(template: str, payload: dict[str, Any], job: dict[str, str | None]) -> Iterator[str]:
    """Read letter by letter: a name is between a brace and the next one, if that closes it; any other brace is not there."""
    name: str | None = None  # since the last brace that opened, if none has closed
    for letter in template:
        if letter == "{":
            yield name or ""
            name = ""
        elif letter == "}":
            if name is not None:
                its = payload.get(name)
                yield job.get(name) or "" if its is None else as_text(its)
            name = None
        elif name is not None:
            name += letter
        else:
            yield letter
    yield name or ""


def as_text(value: Any) -> str:
    is_text = isinstance(value, str) and not isinstance(value, Number)
    return str(value) if is_text else as_jsonb_writes(value)


@pytest.mark.timeout(within(900))
def test_a_limits_key_is_filled_as_a_reader_letter_by_letter_fills_it(machine: Machine) -> None:
    filled = cut = 0

    @given(
        template=TEMPLATES,
        payload=st.dictionaries(NAMES | st.just("subject"), VALUES, max_size=5),
        long=st.none() | LONG,
        tenant=OF_THE_JOB,
        subject=OF_THE_JOB,
        seed=st.integers(0, 2**32),
    )
    @tried_often
    def agrees(
        template: str,
        payload: dict[str, Any],
        long: str | None,
        tenant: str | None,
        subject: str | None,
        seed: int,
    ) -> None:
        nonlocal filled, cut
        if long:
            template, payload = template + "{long}", {**payload, "long": long}
        document = spelled(payload, random.Random(seed))

        told = machine.value(
            "select holdfast.filled_key(%s, %s::text::jsonb, %s, %s)", template, document, tenant, subject
        )

        wanted = filled_in_python(template, payload, {"tenant": tenant, "subject": subject})
        assert told == wanted, (template, document)
        filled += wanted not in ("", template)
        cut += len(wanted) == 433

    agrees()

    assert filled > times(20, 4_000)
    assert cut > times(10, 2_000)


# -- keys of the API -----------------------------------------------------------------------------------------------------

NEARLY = st.builds(
    lambda before, letter, name, secret, behind: f"{before}{letter * name}_{letter * secret}{behind}",
    st.sampled_from(["hfk_", "hfs_", "HFK_", " hfk_", "hfk"]),
    st.sampled_from("aZ0-é٣"),
    st.integers(11, 13),
    st.integers(42, 44),
    st.sampled_from(["", "\n", " ", "a", "_"]),
)


@given(text=NEARLY | st.text(max_size=80))
@tried_often
def test_whatever_is_sent_as_a_key_is_read_to_its_last_character_or_not_at_all(text: str) -> None:
    found = read_key(text)

    assert found is None or found.written == text


@given(
    place=st.integers(0, 59),
    other=st.characters(codec="utf-8") | st.sampled_from("aZ0_"),
    how=st.sampled_from(["put in", "put over", "left out"]),
)
@tried_often
def test_a_key_with_one_character_changed_is_another_one_or_none(place: int, other: str, how: str) -> None:
    key = new_key()
    rest = key.written[place + (how != "put in") :]
    changed = key.written[:place] + (other if how != "left out" else "") + rest

    found = read_key(changed)

    assert changed == key.written or found is None or found.id != key.id or not found.matches(key.digest)
