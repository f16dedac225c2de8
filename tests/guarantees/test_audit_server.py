"""What the auditor sees of the server itself: the age of what is installed, what holds vacuum back, and what the disk gives back."""

import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from signal import SIGINT

import psycopg
import pytest

from chaos.cluster import Cluster, make_cluster
from chaos.rest import clean
from guarantees.audit import left_on_server
from guarantees.waiting import until
from holdfast import Holdfast
from holdfast.domain.audit import AuditUnfinished, Finding
from holdfast.domain.health import LONG_TRANSACTION, MANY_DEAD_ROWS
from holdfast.embedded import throwaway
from holdfast.embedded.throwaway import place_on_disk
from holdfast.interfaces.auditing import Audit
from holdfast.store.connection import Database, Session
from holdfast.store.databases import create_database
from holdfast.testing import ScratchDatabase, TestServer
from sql.support import machine_on


def audited(url: str, *, at_rest: bool = False) -> set[str]:
    """Say which rules a quick look finds broken, as an operator takes it every few minutes."""
    return {finding.code for finding in found(url, at_rest=at_rest)}


def found(url: str, *, at_rest: bool = False) -> list[Finding]:
    with closing(Session(Database(url, "test"), "holdfast audit")) as session:
        return list(Audit(session, sample=1, at_rest=at_rest).findings())


def install(url: str) -> None:
    with closing(Holdfast()) as app:
        app.connect_to(Database(url, "test"))
        app.migrate()


AGES = {
    "the database is ahead": "insert into holdfast.installed (what, checksum) values ('9999_tomorrow', 'x')",
    "a newer release put the functions there": "update holdfast.installed set checksum = '999.0.0' where what = 'release'",
    "the database is behind": "delete from holdfast.installed where what = (select max(i.what) from holdfast.installed i where i.what ~ '^[0-9]{4}_')",
    "the functions are another release's": "update holdfast.installed set checksum = 'x' where what = 'functions'",
    "a migration was another one": "update holdfast.installed set checksum = 'x' where what like '0001%'",
}


@pytest.mark.parametrize("deed", AGES.values(), ids=AGES)
def test_a_database_of_another_age_than_the_release_is_found(holdfast_db: ScratchDatabase, deed: str) -> None:
    assert audited(holdfast_db.owner_url) == set()

    with machine_on(holdfast_db.owner_url) as machine:
        assert machine.run(deed) == 1

    assert audited(holdfast_db.owner_url) == {"H10"}


def test_an_audit_that_asks_for_what_a_migration_will_bring_says_first_that_it_is_missing(
    holdfast_db: ScratchDatabase,
) -> None:
    with machine_on(holdfast_db.owner_url) as machine:
        machine.run("delete from holdfast.installed where what = '0027_chain'")
        machine.run("alter table holdfast.job rename column chain to not_there_yet")

    with closing(Session(Database(holdfast_db.owner_url, "test"), "holdfast audit")) as session:
        findings = Audit(session, chains=True).findings()
        assert "behind by 0027_chain; run: holdfast db migrate" in next(findings).what
        with pytest.raises(AuditUnfinished, match="chain"):
            list(findings)


def test_an_old_transaction_is_found(holdfast_db: ScratchDatabase) -> None:
    with machine_on(holdfast_db.owner_url) as forgetful, forgetful.connection.transaction():
        assert "I06" not in audited(holdfast_db.owner_url)

        holdfast_db.clock.advance(LONG_TRANSACTION.total_seconds() + 60)

        assert audited(holdfast_db.owner_url) == {"H08", "I06"}  # the clock that was moved is found too
        (told,) = [each.what for each in found(holdfast_db.owner_url) if each.code == "I06"]
        assert f"session {forgetful.connection.info.backend_pid} (" in told


def test_an_old_transaction_of_another_database_is_no_finding(
    holdfast_db: ScratchDatabase, holdfast_server: TestServer
) -> None:
    """It keeps no dead row of this one alive."""
    with machine_on(holdfast_server.admin_url) as elsewhere, elsewhere.connection.transaction():
        elsewhere.run("select pg_current_xact_id()")
        holdfast_db.clock.advance(LONG_TRANSACTION.total_seconds() + 60)

        assert audited(holdfast_db.owner_url) == {"H08"}


def test_a_vacuum_that_takes_long_is_no_finding(holdfast_db: ScratchDatabase) -> None:
    with (
        machine_on(holdfast_db.owner_url) as reader,
        machine_on(holdfast_db.owner_url) as vacuum,
        ThreadPoolExecutor(1) as thread,
    ):
        vacuum.run("set vacuum_cost_delay = 100")
        vacuum.run("set vacuum_cost_limit = 1")
        reader.run("create table public.large as select generate_series(1, 200000) as n")
        pid = vacuum.connection.info.backend_pid
        working = thread.submit(vacuum.run, "vacuum public.large")
        until(
            "it is at work",
            lambda: reader.value("select count(*) from pg_stat_progress_vacuum where pid = %s", pid) == 1,
        )
        holdfast_db.clock.advance(LONG_TRANSACTION.total_seconds() + 60)

        assert audited(holdfast_db.owner_url) == {"H08"}
        reader.run("select pg_cancel_backend(%s)", pid)
        with pytest.raises(psycopg.errors.QueryCanceled):
            working.result()


def test_a_session_that_forgot_its_transaction_is_found_at_rest(holdfast_db: ScratchDatabase) -> None:
    with machine_on(holdfast_db.owner_url) as forgetful, forgetful.connection.transaction():
        assert "I01" not in audited(holdfast_db.owner_url, at_rest=True)

        until(
            "it has been idle for long enough", lambda: "I01" in audited(holdfast_db.owner_url, at_rest=True)
        )


def test_more_dead_rows_than_vacuum_keeps_up_with_are_found(holdfast_db: ScratchDatabase) -> None:
    """What is taken back is dead at once; without triggers and indexes, which come back with it, half a million takes a second or two."""
    with machine_on(holdfast_db.owner_url) as machine:
        machine.run("alter table holdfast.job set (autovacuum_enabled = off)")
        assert audited(holdfast_db.owner_url) == set()

        with machine.connection.transaction(force_rollback=True):
            machine.run("alter table holdfast.job disable trigger user")
            machine.run("alter table holdfast.job drop constraint job_pkey cascade")
            for row in machine.rows(
                "select i.indexrelid::regclass::text as name from pg_index i where i.indrelid = 'holdfast.job'::regclass"
            ):
                machine.run(f"drop index {row['name']}")
            machine.run(
                "insert into holdfast.job (id, task, payload, claim_order) "
                f"select (select holdfast.new_id()), 't', '{{}}', now() from generate_series(0, {MANY_DEAD_ROWS})"
            )
        machine.run("select pg_stat_force_next_flush()")

        (told,) = found(holdfast_db.owner_url)
        assert (told.code, " dead rows are beside " in told.what) == ("I06", True)


def test_notifications_that_nobody_reads_are_found() -> None:
    with throwaway(settings={"max_notify_queue_pages": "64"}) as server:
        install(server.url)
        with machine_on(server.url) as deaf, machine_on(server.url) as loud:
            deaf.run("listen news")
            assert audited(server.url) == set()

            with deaf.connection.transaction():
                deaf.run("select 1")
                for number in range(40):
                    loud.run("select pg_notify('news', %s)", f"{number:07900}")

                (told,) = found(server.url)
                assert (told.code, told.what[:34]) == ("I06", "the server's notification queue is")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Give a server whose disk may lie; its account must reach its folder, which it does not in root's temporary ones."""
    place = Path(tempfile.mkdtemp(prefix="holdfast-struck-", dir=place_on_disk()))
    try:
        made = make_cluster(place, tmp_path / "log")
        try:
            install(made.url)
            yield made
        finally:
            made.remove()
    finally:
        shutil.rmtree(place)


def found_at_the_end_of_chaos(cluster: Cluster) -> set[str]:
    with psycopg.connect(cluster.url, autocommit=True) as connection:
        return {finding.rule for finding in clean(cluster, connection)}


def test_a_page_that_the_disk_gave_back_otherwise_is_found(cluster: Cluster) -> None:
    with machine_on(cluster.url) as machine:
        machine.run("create table public.kept as select repeat('x', 100) from generate_series(1, 100)")
        place: str = machine.value("select pg_relation_filepath('public.kept')")
    cluster.stop(SIGINT)
    _flip_a_byte(cluster.data / place)
    cluster.start()
    assert audited(cluster.url) == set()

    with machine_on(cluster.url) as machine, pytest.raises(psycopg.errors.DataCorrupted):
        machine.run("select * from public.kept")

    assert audited(cluster.url) == {"I04"}
    with machine_on(create_database(cluster.url, "other")) as elsewhere:
        assert left_on_server(elsewhere.connection) == []
    assert "a checksum did not fit" in found_at_the_end_of_chaos(cluster)


def test_an_index_that_lacks_a_row_is_found_at_the_end_of_chaos(cluster: Cluster) -> None:
    if cluster.program("pg_amcheck") is None:
        pytest.skip("NOT RUN: pg_amcheck is not among the server's programs")
    ready = "update pg_index set indisready = %s::boolean where indexrelid = 'holdfast.queue_pkey'::regclass"
    with machine_on(cluster.url) as machine:
        assert found_at_the_end_of_chaos(cluster) == set()

        machine.run(ready, "no")
        machine.run("insert into holdfast.queue (name) values ('half')")
        machine.run(ready, "yes")

    assert found_at_the_end_of_chaos(cluster) == {"pg_amcheck"}


def _flip_a_byte(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(8000)
        byte = file.read(1)
        file.seek(8000)
        file.write(bytes([byte[0] ^ 1]))
