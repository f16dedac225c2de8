"""Where the database is: what is asked in which order, and what is said when nobody knows."""

import os
from pathlib import Path

import pytest

from holdfast import Configuration, Holdfast
from holdfast.store.connection import find_database, normalised, require_database

A, B, C = "postgresql://a@db/a", "postgresql://b@db/b", "postgresql://c@db/c"


@pytest.fixture
def no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("PG") or "DATABASE_URL" in name:
            monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("given", "environment", "url", "source"),
    [
        (A, {"HOLDFAST_DATABASE_URL": B, "DATABASE_URL": C}, A, "given"),
        (None, {"HOLDFAST_DATABASE_URL": B, "DATABASE_URL": C, "PGHOST": "db"}, B, "HOLDFAST_DATABASE_URL"),
        (None, {"DATABASE_URL": C, "PGHOST": "db"}, C, "DATABASE_URL"),
        (None, {"HOLDFAST_DATABASE_URL": "", "DATABASE_URL": C}, C, "DATABASE_URL"),
        (None, {"PGHOST": "db", "PGDATABASE": "shop"}, "", "PG* variables"),
        (None, {"PGHOSTADDR": "10.0.0.1"}, "", "PG* variables"),
        (None, {"PGSERVICE": "shop"}, "", "PG* variables"),
    ],
)
def test_the_nearest_word_wins(given: str | None, environment: dict[str, str], url: str, source: str) -> None:
    found = require_database(given, environment)

    assert (found.url, found.source) == (url, source)


@pytest.mark.parametrize("variable", ["HOLDFAST_DATABASE_URL", "DATABASE_URL"])
def test_a_file_may_hold_the_url(tmp_path: Path, variable: str) -> None:
    (tmp_path / "url").write_text(f"{A}\n")

    found = require_database(environment={f"{variable}_FILE": str(tmp_path / "url")})

    assert (found.url, found.source) == (A, f"{variable}_FILE")


def test_holdfasts_own_file_comes_before_the_general_variable(tmp_path: Path) -> None:
    (tmp_path / "url").write_text(A)

    assert (
        require_database(
            environment={"HOLDFAST_DATABASE_URL_FILE": str(tmp_path / "url"), "DATABASE_URL": B}
        ).url
        == A
    )


def test_a_file_that_says_nothing_is_an_error_and_no_local_server(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("\n")

    with pytest.raises(Configuration, match=r"DATABASE_URL_FILE names .*url, which is empty"):
        find_database(environment={"DATABASE_URL_FILE": str(tmp_path / "url")})
    with pytest.raises(
        Configuration, match=r"DATABASE_URL_FILE names .*none, which cannot be read: No such file"
    ):
        find_database(environment={"DATABASE_URL_FILE": str(tmp_path / "none")})


@pytest.mark.parametrize(
    "spelling",
    [
        "postgres://a@db/a",
        "postgresql://a@db/a",
        "postgresql+psycopg://a@db/a",
        "postgresql+psycopg2://a@db/a",
        "postgresql+asyncpg://a@db/a",
        "postgresql+psycopg_async://a@db/a",
    ],
)
def test_the_spellings_people_have_are_understood(spelling: str) -> None:
    assert normalised(spelling) == A


def test_libpqs_own_words_are_understood() -> None:
    assert normalised("host=db user=a dbname=a") == "host=db user=a dbname=a"


@pytest.mark.parametrize(
    "nonsense", ["hello secret", "postgresql://a:sec%zzret@db/a", "postgresql://a:secret@db:port/a"]
)
def test_nonsense_is_refused_without_repeating_what_may_be_secret(nonsense: str) -> None:
    with pytest.raises(
        Configuration, match=r"the database URL \(DATABASE_URL\) cannot be understood: write postgresql://"
    ) as said:
        find_database(environment={"DATABASE_URL": nonsense})

    assert "sec" not in str(said.value)


def test_another_databases_url_is_named() -> None:
    with pytest.raises(Configuration, match="begins with mysql://; it must begin with postgresql://") as said:
        find_database("mysql://a:secret@db/a", {})

    assert "secret" not in str(said.value)


@pytest.mark.usefixtures("no_database")
def test_where_nobody_names_a_database_none_is_guessed() -> None:
    app = Holdfast()

    @app.task()
    def mail(to: str) -> None: ...

    with pytest.raises(
        Configuration,
        match=r"no database is configured: pass database_url=…, set HOLDFAST_DATABASE_URL, .* holdfast dev",
    ):
        mail.enqueue("a")


@pytest.mark.parametrize("word", ["PGPORT", "PGUSER", "PGPASSWORD", "PGSSLMODE"])
def test_a_variable_that_names_no_database_does_not_count(word: str) -> None:
    assert find_database(environment={word: "5432"}) is None


def test_the_address_is_described_without_its_password() -> None:
    found = require_database("postgresql://shop:secret@db:6543/orders", {})

    assert found.described == "shop@db:6543/orders"
    assert "secret" not in repr(found)


@pytest.mark.usefixtures("no_database")
def test_an_address_of_pg_variables_is_described_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PGHOST": "db", "PGPORT": "6543", "PGUSER": "shop", "PGDATABASE": "orders"}.items():
        monkeypatch.setenv(name, value)

    assert require_database().described == "shop@db:6543/orders"


@pytest.mark.usefixtures("no_database")
def test_an_app_may_be_made_before_its_database_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Holdfast()
    monkeypatch.setenv("DATABASE_URL", A)

    assert app.link.database.url == A
