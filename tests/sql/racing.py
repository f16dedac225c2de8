"""Races on the server: all sides walk through the same jobs at full speed, and write down what they are told."""

import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from psycopg.conninfo import conninfo_to_dict

from holdfast.store import databases
from holdfast.store.ids import new_id
from holdfast.testing import TestServer
from sql.support import Machine, machine_on
from world import strikes
from world.often import times

TRIES = times(200, 1000)

# What each side was told of a job, and the moves that the job made meanwhile.
End = tuple[str, ...]


class Told(Counter[End]):
    """How many of the jobs ended in which way."""

    in_order: tuple[End, ...] = ()

    def must_be(self, wanted: set[End], perhaps: frozenset[End] = frozenset()) -> None:
        """Fail unless each of the wanted ends came, and none but those that may; the first that may not is the strike that tells."""
        for nth, end in enumerate(self.in_order, 1):
            if end not in wanted | perhaps:
                strikes.saw_it(after=nth)
                break
        assert set(self) - perhaps == wanted


@dataclass(frozen=True)
class Side:
    """One side of a race: a query that acts on an entry `e` and answers what it is told; of an error, the SQLSTATE."""

    call: str
    # Statements before it, committed apart: what makes a job due, as time would.
    before: str = "null"


CANCELS = Side("select holdfast.cancel(e.job_id)::text")

# What is raced for unless a test says otherwise: all jobs that were claimed, with the approval or the dispatch that each has.
JOBS = """
select j.id::uuid as job_id, j.seq, j.attempt, j.claim_id, j.holder as worker, a.id as approval_id, d.id as dispatch_id
  from holdfast.job j
  left join holdfast.approval a on a.job_id = j.id
  left join holdfast.dispatch d on d.job_id = j.id
 where j.claim_id is not null
"""
# Whoever loses has less to do, and so catches up with whoever wins until it waits for his lock: the sides meet at nearly
# every job. They wait for each other at every eighth, and go on apart by some microseconds, so that each leads at times.
# Sequences tell how far the others are, committed or not.
_WALK = """
do $walk$
declare
  e race.entry;
  v_told text;
  v_began timestamptz;
  v_looks int;
begin
  for e in select * from race.entry order by nth loop
    if mod(e.nth, 8) = 1 then
      perform setval('race.at_{me}', e.nth);
      v_looks := 0;
      while least({ats}) < e.nth loop
        v_looks := v_looks + 1;
        if v_looks > 30000 then
          raise exception 'nobody else came to entry %', e.nth;
        elsif v_looks > 20 then
          perform pg_sleep(0.001);
        end if;
      end loop;
      v_began := clock_timestamp() + interval '1 microsecond' * mod(abs(hashint4(e.nth * {sides} + {me})::bigint), 300);
      while clock_timestamp() < v_began loop
      end loop;
    end if;
    {before};
    commit;
    v_began := clock_timestamp();
    begin
      v_told := ({call});
    exception when others then
      v_told := sqlstate;
    end;
    insert into race.told values (e.nth, {me}, v_told, v_began, clock_timestamp());
    commit;
  end loop;
end $walk$
"""
_ENDS = """
select (select array_agg(t.told order by t.side) from race.told t where t.nth = e.nth)
       || coalesce((select string_agg(h.to_status::text, ' ' order by h.seq) from holdfast.job_history h
                     where h.job_id = e.job_id and h.seq > e.seq), 'no move') as ends
  from race.entry e
 order by e.nth
"""
_MET = "select count(*) from (select from race.told t group by t.nth having max(t.began) < min(t.ended)) as x"


def race(url: str, *sides: Side, entries: str = JOBS, must_meet: bool = True) -> Told:
    """Let all sides act on every entry, in the same order and as fast as they can; fails when they never met."""
    with machine_on(url) as machine:
        machine.run("create schema race")
        machine.run(
            f"create table race.entry as select row_number() over (order by c.job_id)::int as nth, c.* from ({entries}) as c"
        )
        machine.run(
            "create table race.told (nth int, side int, told text, began timestamptz, ended timestamptz, primary key (nth, side))"
        )
        for me in range(len(sides)):
            machine.run(f"create sequence race.at_{me} minvalue 0 start 0")
        with ThreadPoolExecutor(len(sides)) as threads:
            walks = [threads.submit(_walk, url, sides, me) for me in range(len(sides))]
        for walk in walks:
            walk.result()
        assert machine.value(_MET) >= 1 or not must_meet
        ends = [tuple(row["ends"]) for row in machine.rows(_ENDS)]
    strikes.strike(len(ends))
    told = Told(ends)
    told.in_order = tuple(ends)
    return told


def _walk(url: str, sides: tuple[Side, ...], me: int) -> None:
    ats = ", ".join(f"(select last_value from race.at_{side})" for side in range(len(sides)))
    with machine_on(url) as machine:
        machine.run("set plan_cache_mode = force_generic_plan")  # a thousand times the same: planned once
        machine.run(
            _WALK.format(me=me, sides=len(sides), ats=ats, call=sides[me].call, before=sides[me].before)
        )


@contextmanager
def prepared(server: TestServer, prepare: Callable[[Machine], None]) -> Iterator[str]:
    """Lend a database where jobs stand at the start, for races on copies of it; answers its address."""
    with TestServer.database(server) as database:  # a new one: only what nobody is connected to can be copied
        with machine_on(database.owner_url) as machine:
            machine.register("t")
            prepare(machine)
        yield database.owner_url


@contextmanager
def copy_of(url: str) -> Iterator[str]:
    """Lend a copy of a database that nobody is connected to; answers its address."""
    name = str(conninfo_to_dict(url)["dbname"])
    copy = f"{name}_{secrets.token_hex(4)}"
    try:
        yield databases.copy_database(url, copy, name)
    finally:
        databases.drop_database(url, copy)


def claim_many(machine: Machine, count: int = TRIES) -> None:
    """Enqueue many jobs that are not retried, and claim them."""
    machine.enqueue_many(
        [{"id": str(new_id()), "task": "t", "payload": {}, "max_retries": 0} for _ in range(count)]
    )
    assert len(machine.claim(machine.worker(lease=3600), count)) == count
