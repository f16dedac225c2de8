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
from chaos.world import World
from guarantees.audit import broken_guards, broken_projections, broken_rules, left_at_rest

LEFT = "select count(*) from holdfast.job where finished_at is null"
PROJECTED_WITHIN = 60.0
FORGOTTEN = 10.0  # whatever is open for so long when nothing is left to do
OPEN = """
select application_name, state, query from pg_stat_activity where usename = 'chaos_app' and state like 'idle in transaction%'
 union all
select a.application_name, 'waits for a lock', a.query from pg_locks l join pg_stat_activity a using (pid) where not l.granted
"""


# What a run without one of the guards finds anyway, because it looks for them.
UNGUARDED = "a guard is not as released"


def come_to_rest(world: World, nemesis: Nemesis) -> tuple[Evidence, list[Finding]]:
    """End the run: everybody stops asking, what there is ends, and everything is compared."""
    loaded_until = time.time()
    world.tell_customers("stop")
    found = [Finding(*one) for one in nemesis.findings]
    found += [Finding("in the calm at the end", mended) for mended in world.heal()]
    world.execute("select holdfast.pause_schedule('tick', 'nemesis', 'it is over')")
    found += _drained(world)
    found += _projected(world)
    found += _left_open(world)
    world.end_customers(90)
    found += _ended(world)
    evidence = gather(
        world.owner,
        world.folder,
        nemesis.records,
        plan=world.plan,
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
        elif time.monotonic() - since > world.plan.standstill:
            stuck = world.rows(
                "select task, status, held_by, count(*) from holdfast.job where finished_at is null group by 1, 2, 3"
            )
            return [Finding("not at rest", f"nothing ended for {world.plan.standstill:g} s: {stuck}")]
        time.sleep(0.1)
    return []


def _projected(world: World) -> list[Finding]:
    """Wait until the workers have projected everything, and compare; the index is for the comparison, which asks job by job."""
    until = time.monotonic() + PROJECTED_WITHIN
    while world.value("select holdfast.has_unprojected()"):
        if time.monotonic() > until:
            return [Finding("not projected", f"workers had {PROJECTED_WITHIN:g} s for it")]
        time.sleep(0.1)
    world.execute("create index if not exists chaos_audit on holdfast.feed (job_id)")
    world.execute("analyze")
    is_kept = world.plan.retention is None
    if not is_kept:
        say("NOT RUN: whether sums say more than the history, which retention has shortened")
    found = broken_projections(world.owner, exact=is_kept)
    return [Finding("the projection is not the history", str(one)) for one in found]


def _left_open(world: World) -> list[Finding]:
    """I01, I03, while workers and customers are still there: none of them keeps a transaction open, or waits for a lock."""
    until = time.monotonic() + FORGOTTEN
    while stuck := world.rows(OPEN):
        if time.monotonic() > until:
            return [Finding("left open", str(one)) for one in stuck]
        time.sleep(0.1)
    return []


def _ended(world: World) -> list[Finding]:
    """End the workers, as a deployment does."""
    found = []
    for seat in world.seats:
        seat.worker.signal(signal.SIGTERM)
        code = seat.worker.until_gone(60)
        if code != 0:
            found.append(Finding("a worker did not end as told", f"exit code {code}: {seat.worker.tail}"))
    return found


def audited(connection: psycopg.Connection[Any]) -> list[Finding]:
    """What the auditor says about the database alone, when nobody works any more; the triggers that keep what retention removes are ours."""
    told = [*broken_rules(connection), *left_at_rest(connection)]
    with connection.transaction():
        guards = [rule for rule, _ in broken_guards(connection) if "keep_removed" not in rule]
    return [
        *(Finding(f"auditor: {rule}", str(case)) for rule, case in told),
        *(Finding(UNGUARDED, rule) for rule in guards),
    ]


def clean(cluster: Cluster, connection: psycopg.Connection[Any]) -> list[Finding]:
    """I02, I04: nothing is left behind, and every page and index is as it was written."""
    found = []
    for what, query in (
        (
            "a session was left behind",
            "select application_name, query from pg_stat_activity where usename = 'chaos_app'",
        ),
        ("a prepared transaction was left", "select gid, owner from pg_prepared_xacts"),
        (
            "a checksum did not fit",
            "select datname, checksum_failures from pg_stat_database where checksum_failures > 0",
        ),
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
