from uuid import uuid4

import pytest

from holdfast.domain.errors import BadInput
from holdfast.domain.flow import chain, group, needs_of
from holdfast.domain.job import NewJob


def job(options: str = "") -> NewJob:
    return NewJob(uuid4(), "t", "{}", options)


def test_each_job_of_a_chain_needs_the_one_before() -> None:
    a, b, c = job(), job(',"queue":"mail"'), job()

    flow = chain(a, b, c)

    assert [one.id for one in flow] == [a.id, b.id, c.id]
    assert [needs_of(one) for one in flow] == [[], [str(a.id)], [str(b.id)]]
    assert '"queue": "mail"' in flow[1].options


def test_what_follows_a_group_needs_all_of_it() -> None:
    a, b, c = job(), job(), job()

    flow = group([a, b], then=c)

    assert needs_of(flow[2]) == [str(a.id), str(b.id)]


def test_flows_are_parts_of_flows() -> None:
    first, a, b, gathered, last = job(), job(), job(), job(), job()

    flow = chain(first, group([a, b], then=gathered), last)

    needs = {one.id: set(needs_of(one)) for one in flow}
    assert needs[a.id] == {str(first.id)}
    assert needs[gathered.id] == {str(a.id), str(b.id)}
    assert needs[last.id] == {str(gathered.id)}


def test_a_job_cannot_stand_in_a_flow_twice() -> None:
    a, b = job(), job()

    with pytest.raises(BadInput, match="would wait for itself"):
        chain(a, b, a)


@pytest.mark.parametrize("parts", [(), ([],), ("t",)])
def test_a_flow_is_made_of_jobs(parts: tuple[object, ...]) -> None:
    with pytest.raises(BadInput):
        chain(*parts)  # type: ignore[arg-type]
