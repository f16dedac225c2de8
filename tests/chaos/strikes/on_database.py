"""Strikes on PostgreSQL: sessions ended, a backend killed, the server stopped or gone for long, full, locked, exhausted, upgraded, replaced."""

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any, ClassVar

import psycopg

from chaos.cluster import Cluster
from chaos.strikes.strike import Landed, Strike, taken_for_dead, until_busy, until_heard, wait
from chaos.timing import longest_sweep
from chaos.world import DATABASE, DISK, World, until_world
from guarantees.waiting import until
from holdfast.store.connection import Database
from holdfast.store.migrate import migrate

OURS = "datname = 'chaos' and usename = 'chaos_app'"
FULL_WITHIN = 10.0
FINISHES = ("holdfast.complete", "holdfast.settle")


class TerminateBackends(Strike):
    """pg_terminate_backend of some of the applications' sessions, at once; landed when one of them was at work."""

    name = "terminate_backends"
    away = True
    weight: ClassVar[int] = 4

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        ended = at_work = 0
        for _ in range(chance.randrange(1, 6)):
            found = world.rows(
                "select state = 'active' or xact_start is not null, pg_terminate_backend(pid)"
                f" from (select * from pg_stat_activity where {OURS} order by random() limit %s) as unlucky",
                chance.choice((1, 3, 100)),
            )
            ended += len(found)
            at_work += sum(bool(active) for active, _ in found)
            wait(chance.uniform(0.05, 0.4))
        yield Landed(at_work, f"{ended} sessions, {at_work} of them at work")


class KillBackend(Strike):
    """kill -9 of one backend: PostgreSQL throws everybody out and recovers from its log."""

    name = "kill_backend"
    away = True

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        jobs = running(world)
        pids = [pid for (pid,) in world.rows(f"select pid from pg_stat_activity where {OURS} order by pid")]
        with psycopg.connect(world.owner_url, autocommit=True) as witness:
            for pid in chance.sample(pids, len(pids)):
                with suppress(ProcessLookupError):  # it has just left: then another
                    os.kill(pid, signal.SIGKILL)
                    break
            # Until it has noticed the death, it answers as if nothing had happened.
            until_world("PostgreSQL has thrown everybody out", lambda: _is_lost(witness))
        until_world("PostgreSQL has recovered", world.cluster.answers)
        yield Landed(jobs, f"{jobs} jobs ran")


class StopImmediately(Strike):
    """An immediate stop, as a crash, and a start after a moment; landed when jobs ran."""

    name = "stop_immediately"
    away = True
    weight: ClassVar[int] = 4
    how = signal.SIGQUIT

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        jobs = running(world)
        away = chance.uniform(0.0, 2.0)
        world.cluster.stop(self.how)
        wait(away)
        world.cluster.start()
        yield Landed(jobs, f"{jobs} jobs ran; away for {away:.1f} s")


class KillPostgres(StopImmediately):
    """kill -9 of the postmaster and all its children."""

    name = "kill_postgres"
    weight: ClassVar[int] = 2
    how = signal.SIGKILL


class LongOutage(Strike):
    """No server for longer than the lease: no worker may end, nor spin; landed when jobs ran."""

    name = "long_outage"
    away = True
    leases: ClassVar[tuple[float, float]] = (1.5, 2.5)
    # Of a core, where there is nothing to do but to end what ran, and to look now and then whether the database is back: measured is a
    # fifth of that, with 300 jobs a second before it (seed 7303).
    spins: ClassVar[float] = 0.05

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        jobs = running(world)
        away = world.plan.lease * chance.uniform(*self.leases)
        workers = [seat.worker for seat in world.seats]
        world.cluster.stop(signal.SIGINT)
        wait(1.0)
        spent = sum(worker.cpu_seconds() for worker in workers if worker.lives)
        wait(away - 1.0)
        spent = sum(worker.cpu_seconds() for worker in workers if worker.lives) - spent
        world.cluster.start()
        alive = sum(worker.lives for worker in workers)
        assert alive == len(workers), f"{len(workers) - alive} workers ended while the database was away"
        share = spent / (away - 1.0) / len(workers)
        assert share < self.spins, f"workers used {share:.0%} of a core each while the database was away"
        yield Landed(jobs, f"{away:.1f} s; workers used {share:.0%} of a core each")


class OutageOfMinutes(LongOutage):
    """No server for 20 to 40 leases, with one of 3 s for a minute to two; landed when jobs ran."""

    name = "outage_of_minutes"
    quick: ClassVar[bool] = False
    weight: ClassVar[int] = 1
    leases: ClassVar[tuple[float, float]] = (20.0, 40.0)


class NoConnections(Strike):
    """Others take every connection that the server has to give; landed when workers or customers were turned away."""

    name = "no_connections"
    away = True

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        before = world.turned_away
        # Owner and applications are no superusers' reserve: fill all but those as the applications' own login.
        with ExitStack() as crowd:
            self._fill(crowd, world)
            world.rows(
                f"select pg_terminate_backend(pid) from pg_stat_activity where {OURS} and application_name <> 'crowd'"
            )
            self._fill(crowd, world)
            wait(chance.uniform(1.0, 2.0))
        refused = world.turned_away - before
        yield Landed(refused, f"{refused} were turned away")

    @staticmethod
    def _fill(crowd: ExitStack, world: World) -> None:
        """Take connections until there are no more; that the last is refused to us hits nobody."""
        try:
            while True:
                crowd.enter_context(
                    psycopg.connect(world.address(), application_name="crowd", connect_timeout=5)
                )
        except psycopg.OperationalError:
            return


class HoldTable(Strike):
    """Another session holds a lock on a table; who is only kept waiting by it may not be taken for dead. Landed when somebody waited for it.

    Who cannot say for a whole lease that he lives is dead by the books, whatever kept him from it: nothing else is promised, and a lock
    is no outage that the sweeper would notice too. What counts is how long each was silent when the lock goes. After two thirds
    of the lease there is yet time for whoever pauses before he tries again, for a sixth of it at most, and as much for a busy machine.
    """

    name = "hold_table"
    away = True
    IN_TIME = (
        "select id from holdfast.worker where id = any(%s) and died_at is null"
        " and seen_at > clock_timestamp() - lease * 2 / 3"
    )

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        mode = chance.choice(("share", "access exclusive", "share row exclusive"))
        table = chance.choice(("holdfast.job", "holdfast.job", "holdfast.worker", "holdfast.job_history"))
        seconds = chance.uniform(1.0, world.plan.lease * 1.2)
        workers = until_heard(world)
        with psycopg.connect(world.owner_url) as connection:
            connection.execute(f"lock table {table} in {mode} mode".encode())
            wait(seconds)
            (waited,) = connection.execute("select count(*) from pg_locks where not granted").fetchone() or (
                0,
            )
            in_time = [one for (one,) in connection.execute(self.IN_TIME, (workers,)).fetchall()]
        wait(longest_sweep(world.plan.lease))
        what = f"{table} in {mode} mode for {seconds:.1f} s"
        died, of_all = taken_for_dead(world, in_time), taken_for_dead(world, workers)
        assert not died, f"{died} workers were taken for dead because they had to wait for {what}"
        yield Landed(waited, f"{what}; {waited} waited at its end, {of_all} workers were taken for dead")


class StatementTimeout(Strike):
    """Statements may take some milliseconds for a while: whatever finishes, finishes late or not at all; landed when it ended such ones."""

    name = "statement_timeout"
    away = True

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        before = self._ended(world)
        self._set(world, f"set statement_timeout = '{chance.choice((1, 2, 4))}ms'")
        try:
            wait(chance.uniform(1.0, 2.0))
        finally:
            self._set(world, "reset statement_timeout")
        everything, finishing = (now - then for now, then in zip(self._ended(world), before, strict=True))
        yield Landed(finishing, f"{everything} statements were ended, {finishing} of them finish a job")

    @staticmethod
    def _ended(world: World) -> tuple[int, int]:
        """Count the statements that the server has ended, and those among them that write what became of jobs."""
        ended = ended_statements(world.cluster, "due to statement timeout")
        return len(ended), sum(any(word in one for word in FINISHES) for one in ended)

    @staticmethod
    def _set(world: World, what: str) -> None:
        world.execute(f"alter role chaos_app in database {DATABASE} {what}")
        world.rows(f"select pg_terminate_backend(pid) from pg_stat_activity where {OURS}")


class PinSnapshot(Strike):
    """A forgotten transaction keeps everything dead in sight; landed when rows died meanwhile."""

    name = "pin_snapshot"

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        seconds = chance.uniform(2.0, 4.0)
        with psycopg.connect(world.owner_url) as connection:
            connection.execute("set transaction isolation level repeatable read")
            connection.execute("select count(*) from holdfast.job")
            before = world.value("select n_tup_upd from pg_stat_user_tables where relname = 'job'")
            wait(seconds)
            after = world.value("select n_tup_upd from pg_stat_user_tables where relname = 'job'")
        yield Landed(after - before, f"{seconds:.1f} s; {after - before} rows were updated")


class FillDisk(Strike):
    """The server's disk is full for a while; landed when it said so, and it may have died of it."""

    name = "fill_disk"
    away = True

    def missing(self, world: World) -> str | None:
        return None if world.has_own_disk else "no small disk could be mounted here (it takes root)"

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        before = said_by_server(world.cluster, "No space left on device")
        room, seconds = chance.choice((0, 1 << 16, 1 << 20)), chance.uniform(1.0, 2.5)
        until("the disk is full", lambda: self._filled(world, room))
        try:
            self._until_it_is_said(world, before)
            wait(seconds)
        finally:
            world.resize_disk(DISK)
        wait(0.5)
        died = not world.cluster.lives
        world.cluster.start()
        hits = said_by_server(world.cluster, "No space left on device") - before
        yield Landed(
            hits or int(died), f"{hits} times no space{', and the server died of it' if died else ''}"
        )

    @staticmethod
    def _until_it_is_said(world: World, before: int) -> None:
        """What has died makes room in the tables: it takes some seconds of work until the server wants more."""
        deadline = time.monotonic() + FULL_WITHIN
        while time.monotonic() < deadline and world.cluster.lives:
            if said_by_server(world.cluster, "No space left on device") > before:
                return
            wait(0.1)

    @staticmethod
    def _filled(world: World, room: int) -> bool:
        """Leave so much room and no more; not when more has been written since it was looked at."""
        with suppress(subprocess.CalledProcessError):
            world.resize_disk(shutil.disk_usage(world.place).used + room)
            return True
        return False


class ApplyFunctions(Strike):
    """All functions, triggers and rights are applied again under load, as a new release does it; landed when jobs ran."""

    name = "apply_functions"
    away = True

    def missing(self, world: World) -> str | None:
        return None if world.has_all_guards else "it would bring back the guard that was taken away"

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        del chance
        jobs = running(world)
        world.execute("update holdfast.installed set checksum = 'older' where what = 'functions'")
        began = time.monotonic()
        applied = migrate(Database(world.owner_url, "chaos"))
        assert applied == ["functions"], f"applied were {applied}"
        yield Landed(jobs, f"{jobs} jobs ran; it took {time.monotonic() - began:.1f} s")


class Failover(Strike):
    """The primary freezes, its synchronous standby is promoted, everybody is led there; later the old primary thaws. Landed when jobs ran."""

    name = "failover"
    away = True

    def missing(self, world: World) -> str | None:
        return (
            None
            if world.cluster.program("pg_basebackup")
            else "pg_basebackup is not among the server's programs"
        )

    def strike(self, world: World, chance: random.Random) -> Iterator[Landed]:
        old = world.cluster
        try:
            new = world.add_standby()
            self._follow(world)
            wait(chance.uniform(0.5, 1.5))
            jobs = running(world)
            began = time.monotonic()
            old.freeze()
            new.promote()
            world.move_to(new)
            took = time.monotonic() - began
            wait(chance.uniform(0.5, 2.0))
            # Whoever is still connected to the old one is answered again: nothing it commits now reaches anybody.
            old.thaw()
            wait(chance.uniform(0.5, 1.5))
        finally:
            self._leave_one(world, old)
        yield Landed(jobs, f"{jobs} jobs ran; {took:.1f} s until the standby was primary")

    @staticmethod
    def _leave_one(world: World, old: Cluster) -> None:
        """End all but the primary, whoever that is by now."""
        old.thaw()
        for other in [one for one in world.clusters if one is not world.cluster]:
            world.remove(other)
        if world.cluster is old:
            old.wait_for_no_standby()

    @staticmethod
    def _follow(world: World) -> None:
        world.execute("alter system set synchronous_standby_names = '*'")
        world.execute("select pg_reload_conf()")
        until_world(
            "the standby is synchronous",
            lambda: world.value(
                "select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum') and replay_lsn is not null"
            ),
        )


def _is_lost(connection: psycopg.Connection[Any]) -> bool:
    with suppress(psycopg.OperationalError):
        connection.execute("select 1")
    return connection.broken


def running(world: World) -> int:
    """Count the jobs that run, as soon as there are any."""
    jobs = "select count(*) from holdfast.job where status = 'RUNNING'"
    return int(until_busy(world, lambda: world.value(jobs)))


def ended_statements(cluster: Cluster, why: str) -> list[str]:
    """Give the statements that ended with these words, by the server's log, in which each process tells it after them."""
    found: list[str] = []
    told: set[str] = set()
    for line in cluster.log.read_text("utf-8", "replace").splitlines():
        process = line.partition("[")[2].partition("]")[0]
        if why in line:
            told.add(process)
        elif process in told and "STATEMENT:" in line:
            told.remove(process)
            found.append(line)
    return found


def said_by_server(cluster: Cluster, *words: str) -> int:
    """Count the lines of the server's log that have one of these words."""
    with cluster.log.open("rb") as log:
        return sum(any(word.encode() in line for word in words) for line in log)
