"""The guards of a release, in every set-up that a migration makes: the auditor has nothing to find, on the newest server and the oldest."""

from contextlib import closing

import psycopg

from guarantees.audit import broken_guards
from holdfast.domain.audit import Finding
from holdfast.interfaces.auditing import Audit
from holdfast.store.connection import Database, Session
from holdfast.store.databases import create_database, url_of
from holdfast.store.migrate import migrate
from holdfast.testing import TestServer
from sql.support import Machine, database_for

LOGIN = "migrator"


def looked_at(url: str) -> tuple[list[Finding], set[str]]:
    """Give what a look finds, and which rules of guards it could not look at."""
    with closing(Session(Database(url, "test"), "holdfast audit")) as session:
        walk = Audit(session, sample=1, chains=True)
        found = list(walk.findings())
    return found, {code for codes, _ in walk.not_checked for code in codes if code.startswith("H")}


def migrated(server: str, rights: str, *made: str) -> str:
    """Migrate a database by a login with some rights, on a server where an administrator has made something before."""
    url = create_database(server, "holdfast_test_guards")
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"create role {LOGIN} login {rights} password 'x'")
        admin.execute(f"grant create on database holdfast_test_guards to {LOGIN}")
        for statement in made:
            admin.execute(statement)
    url = url_of(url, user=LOGIN, password="x")
    migrate(Database(url, "test"))
    return url


def test_a_database_has_the_guards_of_its_release_on_every_server(each_machine: Machine) -> None:
    assert broken_guards(each_machine.connection) == []


def test_where_one_role_owns_everything_there_is_nothing_to_find_and_that_is_said(
    each_server: TestServer,
) -> None:
    with database_for(each_server.admin_url, "nocreaterole") as url:
        migrate(Database(url, "test"))

        assert looked_at(url) == ([], {"H05", "H06"})


def test_a_login_that_made_the_roles_is_no_finding(fresh_server: str) -> None:
    url = migrated(fresh_server, "createrole")

    assert looked_at(url) == ([], set())


ROLES = [f"create role holdfast_{name}" for name in ("owner", "producer", "worker", "api", "viewer", "maint")]


def test_roles_without_the_one_that_is_bound_to_nobody_are_no_finding(fresh_server: str) -> None:
    url = migrated(fresh_server, "nocreaterole", *ROLES, f"grant holdfast_owner to {LOGIN}")
    before = looked_at(url)

    migrate(Database(create_database(fresh_server, "holdfast_test_other"), "test"))  # which makes the role

    assert before == looked_at(url) == ([], set())


def test_a_login_that_migrates_and_works_is_a_finding_also_through_a_group(fresh_server: str) -> None:
    url = migrated(fresh_server, "createrole")

    with psycopg.connect(url_of(fresh_server, dbname="holdfast_test_guards"), autocommit=True) as admin:
        admin.execute(f"create role crew; grant holdfast_worker to crew; grant crew to {LOGIN}")

    found, _ = looked_at(url)
    assert {each.what for each in found} == {
        f"{LOGIN}, whom applications log in as or through, may act as holdfast_owner, who owns everything"
    }
