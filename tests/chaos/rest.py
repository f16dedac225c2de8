"""Coming to rest, and the verdict: stop the load, heal, drain, and let judge and auditor look."""

import signal
import subprocess
import time
from typing import Any

import psycopg

from chaos.cluster import Cluster
from chaos.evidence import Evidence, gather
from chaos.judge import Finding, findings
from chaos.nemesis import Nemesis, say
from chaos.world import World, until_world
from guarantees.audit import broken_projections, broken_rules

# So long may nothing end. How long all of it takes is not said: what was in a worker that died runs again alone, one after the other.
STANDSTILL = 120.0
LEFT = "select count(*) from holdfast.job where finished_at is null"


def come_to_rest(world: World, nemesis: Nemesis) -> tuple[Evidence, list[Finding]]:
    """End the run: everybody stops asking, what there is ends, and everything is compared."""
    loaded_until = time.time()
    world.tell_customers("stop")
    world.heal()
    world.execute("select holdfast.pause_schedule('tick', 'nemesis', 'it is over')")
    found = [Finding(*one) for one in nemesis.findings]
    found += _drained(world)
    found += _projected(world)
    world.end_customers(90)
    for seat in world.seats:
        seat.worker.signal(signal.SIGTERM)
        code = seat.worker.until_gone(60)
        if code != 0:
            found.append(Finding("a worker did not end as told", f"exit code {code}: {seat.worker.tail}"))
    evidence = gather(
        world.owner,
        world.folder,
        nemesis.records,
        lease=world.plan.lease,
        loaded_until=loaded_until,
    )
    say(
        f"at rest; judging {len(evidence.jobs)} jobs, {len(evidence.moves)} moves, {len(evidence.ledger)} lines of ledger"
    )
    return evidence, [*found, *findings(evidence), *audited(world.owner), *clean(world.cluster, world.owner)]


def _drained(world: World) -> list[Finding]:
    """Wait until every job has ended, for as long as it goes on."""
    fewest, since = None, time.monotonic()
    while left := world.value(LEFT):
        if fewest is None or left < fewest:
            fewest, since = left, time.monotonic()
        elif time.monotonic() - since > STANDSTILL:
            stuck = world.rows(
                "select task, status, held_by, count(*) from holdfast.job where finished_at is null group by 1, 2, 3"
            )
            return [Finding("not at rest", f"nothing ended for {STANDSTILL:g} s: {stuck}")]
        time.sleep(0.1)
    return []


def _projected(world: World) -> list[Finding]:
    """Project what is left, if the workers have not yet, and compare; the index is for the comparison, which asks job by job."""
    until_world(
        "everything is projected", lambda: not world.value("select projected from holdfast.project()")
    )
    if world.plan.retention is not None:
        say("NOT RUN: usage against history, which retention has shortened")
        return []
    world.execute("create index if not exists chaos_audit on holdfast.feed (job_id)")
    world.execute("analyze")
    return [Finding("the projection is not the history", str(one)) for one in broken_projections(world.owner)]


def audited(connection: psycopg.Connection[Any]) -> list[Finding]:
    """What the auditor says about the database alone."""
    return [Finding(f"auditor: {rule}", str(case)) for rule, case in broken_rules(connection)]


def clean(cluster: Cluster, connection: psycopg.Connection[Any]) -> list[Finding]:
    """I01 to I05: nothing is left open, no guard had to refuse anything, and every page and index is as it was written."""
    found = []
    for what, query in (
        (
            "a transaction was left open",
            "select pid, query from pg_stat_activity where state like 'idle in transaction%'",
        ),
        ("a prepared transaction was left", "select gid, owner from pg_prepared_xacts"),
        ("somebody waits for a lock", "select pid, mode from pg_locks where not granted"),
        (
            "a checksum did not fit",
            "select datname, checksum_failures from pg_stat_database where checksum_failures > 0",
        ),
        ("a guard refused a write", "select last_value from holdfast.refusal where is_called"),
    ):
        found += [Finding(what, str(row)) for row in connection.execute(query).fetchall()]
    program = cluster.program("pg_amcheck")
    if program is None:
        say("NOT RUN: pg_amcheck is not among the server's programs")
        return found
    checked = subprocess.run(
        [program, "--install-missing", "--heapallindexed", f"--maintenance-db={cluster.url}", connection.info.dbname,
         "--host=127.0.0.1", f"--port={cluster.port}", "--username=postgres"],
        env={"PGPASSWORD": cluster.password},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    if checked.returncode != 0:
        found.append(Finding("pg_amcheck", (checked.stdout + checked.stderr)[-2000:]))
    return found
