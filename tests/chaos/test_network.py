"""What the proxy does to connections: late, cut in the middle of a message, and after a commit only where something was done."""

import random
import re
import time

import psycopg
import pytest

from chaos.strikes.on_network import CUSTOMERS, FOLLOWS, WORKERS, did_first, did_something
from guarantees.proxy import proxied
from guarantees.waiting import until
from holdfast.testing import ScratchDatabase


def test_what_comes_later_comes_in_its_order_and_whole(holdfast_db: ScratchDatabase) -> None:
    chance = random.Random(1)
    with proxied(holdfast_db.owner_url) as proxy:
        proxy.delay = lambda: chance.uniform(0.005, 0.02)
        with psycopg.connect(proxy.url) as connection:
            began = time.monotonic()
            told = connection.execute("select n, repeat('x', 100) from generate_series(1, 20000) as n")
            numbers = [n for n, _ in told.fetchall()]
            took = time.monotonic() - began

    assert numbers == list(range(1, 20001))
    assert took > 0.01
    assert proxy.delayed > 2


def test_an_end_does_not_overtake_what_is_under_way(holdfast_db: ScratchDatabase) -> None:
    with proxied(holdfast_db.owner_url) as proxy, psycopg.connect(proxy.url) as connection:
        proxy.delay = lambda: 0.1
        with pytest.raises(psycopg.errors.AdminShutdown):
            connection.execute("select pg_terminate_backend(pg_backend_pid())")


def test_a_connection_is_cut_after_so_many_bytes(holdfast_db: ScratchDatabase) -> None:
    with proxied(holdfast_db.owner_url) as proxy, psycopg.connect(proxy.url) as connection:
        proxy.cut_after_bytes(lambda: 5000)
        connection.execute("select 1")
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select repeat('x', 10000)")

        proxy.cut_no_more()
        with psycopg.connect(proxy.url) as another:
            another.execute("select repeat('x', 10000)")
    assert proxy.cut_anywhere == 1


def test_who_is_turned_away_is_counted(holdfast_db: ScratchDatabase) -> None:
    with (
        proxied(holdfast_db.owner_url) as proxy,
        psycopg.connect(proxy.url) as connection,
        pytest.raises(psycopg.errors.TooManyConnections),
    ):
        connection.execute("do $$ begin raise exception 'full' using errcode = '53300'; end $$")

    assert proxy.turned_away == 1


def test_a_lost_answer_counts_where_it_told_of_something_done(holdfast_db: ScratchDatabase) -> None:
    with proxied(holdfast_db.owner_url) as proxy:
        strike = proxy.strike("cut_after", "as done", counts=did_something)
        with psycopg.connect(proxy.url, autocommit=True) as connection:
            for nothing in ("0, null::int, false", "0.0::float8, '', null"):
                for binary in (False, True):
                    connection.execute(f"select {nothing} as done".encode(), binary=binary)
            assert strike.landed == 0

            with pytest.raises(psycopg.OperationalError):
                connection.execute("select 0, 3 as done")
        until("it has landed", lambda: strike.landed == 1)


def test_that_something_is_due_later_is_nothing_done() -> None:
    assert not did_first([b"0", b"0.25"])
    assert did_first([b"10", None])


def test_what_is_cut_is_called_so(holdfast_db: ScratchDatabase) -> None:
    """A function that had another name would come to be cut never, and a run would only say so."""
    named = {
        name for one in (*WORKERS.values(), *CUSTOMERS.values()) for name in re.findall(r"[a-z_]{2,}", one)
    }

    with psycopg.connect(holdfast_db.owner_url) as connection:
        found = connection.execute(
            "select proname from pg_proc where pronamespace = 'holdfast'::regnamespace"
        )
        there = {name for (name,) in found}

    assert named - {"holdfast", "commit"} <= there
    assert {*FOLLOWS, *FOLLOWS.values()} <= WORKERS.keys()
