"""What is wished of a worker, as the database keeps it; how a worker obeys, the tests of its runtime say."""

from holdfast.testing import ScratchDatabase
from sql.support import Machine, meanwhile, until_it_waits

WISH = "select holdfast.wish_of_worker(%s, %s, 'ann', 'a deploy')"


def test_a_stop_is_not_taken_back_by_who_wished_otherwise_meanwhile(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    worker = lasting.worker()
    lasting.run("update holdfast.worker set queues = '{\"default\": 1}' where id = %s", worker)

    with meanwhile(holdfast_db) as (first, ask):
        first.execute(WISH, [worker, "stop"])
        asked = ask(WISH, worker, "quiet")
        until_it_waits(holdfast_db, asked)
        first.commit()

        assert asked.result() == "HF001"

    assert lasting.value("select wish from holdfast.worker where id = %s", worker) == "stop"
