"""Arrays that we write ourselves arrive as PostgreSQL's own."""

from uuid import UUID, uuid4

import pytest

from holdfast.store.arrays import Ints, Uuids
from sql.support import Machine


@pytest.mark.parametrize("number", [0, 1, 500])
def test_uuids_arrive_as_they_were_sent(machine: Machine, number: int) -> None:
    sent = [uuid4() for _ in range(number)]

    arrived: list[UUID] = machine.value("select %b", Uuids(sent))

    assert arrived == sent


@pytest.mark.parametrize("sent", [[], [1], [0, -1, 2**31 - 1, -(2**31)]])
def test_ints_arrive_as_they_were_sent(machine: Machine, sent: list[int]) -> None:
    arrived: list[int] = machine.value("select %b", Ints(sent))

    assert arrived == sent
