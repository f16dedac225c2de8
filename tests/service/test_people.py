"""People: what they may be called, which passwords are refused, and what the database lets through."""

import hashlib
from itertools import pairwise

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import BadInput, PersonExists, PersonNotFound
from holdfast.domain.access import SCOPES_OF, Principal, Role, Scope
from holdfast.domain.guessable import is_guessable
from holdfast.domain.people import buckets, home_of, read_name, refuse_weak_password
from holdfast.domain.signature import weakness
from holdfast.runtime import access
from holdfast.store import people
from service.house import HASHED, PASSWORD, House
from sql.support import meanwhile, until_it_waits


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (" Ann@Example.com ", "ann@example.com"),
        ("ann+jobs", "ann+jobs"),
        ("key:deploy", None),
        ("", None),
        ("-rf", None),
        ("a b", None),
        ("ann\n", "ann"),
        ("ann\x00", None),
        ("\N{CYRILLIC SMALL LETTER A}nn", None),
        ("a" * 201, None),
    ],
)
def test_a_name_is_plain_and_its_capitals_mean_nothing(text: str, name: str | None) -> None:
    assert read_name(text) == name


@given(st.text())
def test_whatever_is_read_as_a_name_the_database_takes(text: str) -> None:
    name = read_name(text)

    assert name is None or (name.isascii() and name == name.lower() and ":" not in name)


@pytest.mark.parametrize(
    "password",
    [
        "short", "elevenchars", "aaaaaaaaaaaaaaaa", "abcabcabcabcabc", "123456789012", "qwertyuiop12", "abcdefghijklmnop",
        "password1234", "Passw0rd" * 2, "changeme-please", "correct horse battery staple", "annika1234567", "annika@shop.test",
        "x" * 1001,
    ],
)  # fmt: skip
def test_passwords_that_are_tried_first_are_refused(password: str) -> None:
    with pytest.raises(BadInput, match="password"):
        refuse_weak_password("annika@shop.test", password)


@pytest.mark.parametrize("password", [PASSWORD, "zwölf Zeichen!", "7f3d9b1c2e8a", "пароль из слов"])
def test_other_passwords_are_taken_whatever_characters_they_have(password: str) -> None:
    refuse_weak_password("annika@shop.test", password)


@pytest.mark.parametrize(
    "key",
    [
        "change-me-change-me-change-me-1234",
        "your-secret-key-here-your-secret-key",
        "0123456789abcdef0123456789abcdef",
        "abcdefghijklmnopqrstuvwxyz012345",
        "django-insecure-secret-key-000000000",
        "supersecretsupersecretsupersecret123",
    ],
)
def test_a_default_is_no_master_key_however_long(key: str) -> None:
    assert len(key) >= 32
    assert weakness(key) is not None


@given(st.binary(min_size=32, max_size=32))
def test_a_random_key_is_taken(key: bytes) -> None:
    made = hashlib.sha256(key).hexdigest()

    assert weakness(made) is None
    assert not is_guessable(made)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::9", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("10.0.0.1", "10.0.0.2", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", False),
        ("fe80::1%eth0", "fe80::1", True),
    ],
)
def test_tries_are_counted_by_what_an_attacker_cannot_change_for_nothing(
    one: str, other: str, same: bool
) -> None:
    assert (home_of(one) == home_of(other)) is same


def test_a_bucket_does_not_say_what_was_typed() -> None:
    assert not any("hunter" in bucket.name for bucket in buckets("hunter2", "10.0.0.1", None))
    assert len({bucket.name for bucket in buckets("a", "10.0.0.1", None)}) == 3


def test_roles_grow_and_only_admins_have_everything() -> None:
    order = [Role.VIEWER, Role.APPROVER, Role.OPERATOR, Role.ADMIN]

    assert all(SCOPES_OF[less] < SCOPES_OF[more] for less, more in pairwise(order))
    assert Scope.ADMIN not in SCOPES_OF[Role.OPERATOR]
    assert Principal.of_role("ann", "viewer", "acme").sees == "acme"


def test_people_are_added_changed_and_listed_and_all_of_it_is_in_the_audit(house: House) -> None:
    name = access.add_person(
        house.app, "Bea@Shop.test", PASSWORD, role=Role.OPERATOR, tenant="acme", actor="ann"
    )
    access.set_role(house.app, name, Role.VIEWER, actor="ann")
    access.set_password(house.app, name, PASSWORD + "!", actor="ann")
    disabled = [access.disable_person(house.app, name, reason="left", actor="ann") for _ in range(2)]
    enabled = [access.enable_person(house.app, name, actor="ann") for _ in range(2)]

    (bea,) = [each for each in house.app.link.perform(people.list_people()) if each.name == name]
    assert (name, bea.role, bea.tenant, bea.created_by) == ("bea@shop.test", "viewer", None, "ann")
    assert (disabled, enabled) == ([True, False], [True, False])
    with psycopg.connect(house.database.owner_url) as owner:
        rows = owner.execute(
            "select action, actor, data::text from holdfast.audit where target = %s", [name]
        ).fetchall()
    assert [row[0] for row in rows][:3] == ["person.add", "person.role", "person.password"]
    assert {row[1] for row in rows} == {"ann"}
    assert not [row for row in rows if "argon2" in str(row) or PASSWORD in str(row)]


@pytest.mark.parametrize("change", ["disable", "enable"])
def test_of_two_that_change_a_person_at_once_one_is_told_that_it_was_otherwise(
    house: House, change: str
) -> None:
    name = house.person()
    if change == "enable":
        access.disable_person(house.app, name)

    with meanwhile(house.database) as (first, ask):
        told = first.execute(f"select holdfast.{change}_person(%s)", [name]).fetchone()
        asked = ask(f"select holdfast.{change}_person(%s)", name)
        until_it_waits(house.database, asked)
        first.commit()

        assert (told, asked.result()) == ((True,), "[(False,)]")


def test_nobody_is_added_twice_and_nobody_changed_who_is_not_there(house: House) -> None:
    access.add_person(house.app, "cleo", PASSWORD)

    with pytest.raises(PersonExists):
        access.add_person(house.app, "CLEO", PASSWORD)
    with pytest.raises(PersonNotFound):
        access.set_role(house.app, "nobody", Role.ADMIN)
    with pytest.raises(PersonNotFound):
        access.set_password(house.app, "nobody", PASSWORD)
    with pytest.raises(PersonNotFound):
        access.disable_person(house.app, "nobody")
    with pytest.raises(PersonNotFound):
        access.enable_person(house.app, "nobody")
    with pytest.raises(BadInput):
        access.add_person(house.app, "dan", "short")


@pytest.mark.parametrize(
    ("name", "password", "role"),
    [
        ("key:x", HASHED, "admin"),
        ("Ann", HASHED, "admin"),
        ("ann2", PASSWORD, "admin"),
        ("ann3", HASHED, "king"),
    ],
    ids=["name", "capitals", "plain password", "role"],
)
def test_the_database_itself_refuses_other_people(house: House, name: str, password: str, role: str) -> None:
    with pytest.raises(BadInput) as refused:
        house.app.link.perform_once(people.create_person(name, password, role, None, "tests"))

    assert password not in str(refused.value)


def test_a_hash_is_not_shown_by_accident(house: House) -> None:
    known = house.app.link.perform(people.find_person(house.person(), None))

    assert "argon2" not in repr(known)
