"""Ids of jobs: in order, also within a millisecond, and never the same in two processes."""

import os
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

    mine, yours = forked(), forked()

    assert len(mine) == len(yours) == 100
    assert not mine & yours


def forked() -> set[str]:
    """Make ids in a process that is forked here; one that does nothing else, and holds on to nothing of ours."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, "\n".join(make_ids(100)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        ids = told.read().decode().split()
    os.waitpid(child, 0)
    return set(ids)
