"""Ids of jobs: in order, also within a millisecond, and never the same in two processes."""

import multiprocessing
import time

import pytest

from holdfast.store.ids import new_id


def make_ids(number: int) -> list[str]:
    return [str(new_id()) for _ in range(number)]


def test_ids_are_in_the_order_of_their_making() -> None:
    made = [new_id() for _ in range(10_000)]

    assert made == sorted(set(made))
    assert {one.version for one in made} == {7}


def test_processes_that_forked_within_a_millisecond_make_different_ids(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    new_id()
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now)

    with multiprocessing.get_context("fork").Pool(2) as children:
        mine, yours = children.map(make_ids, [100, 100], chunksize=1)

    assert not set(mine) & set(yours)
