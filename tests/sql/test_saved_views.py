"""Saved views as the database keeps them: as many as one can choose from, and no more."""

from holdfast.testing import ScratchDatabase
from sql.support import Machine, meanwhile, until_it_waits

SAVE = "select holdfast.save_view(null, 'ann', %s, '', '', '7d', 'ann')"


def test_of_two_that_are_saved_at_once_one_is_the_hundredth_and_the_other_too_many(
    lasting: Machine, holdfast_db: ScratchDatabase
) -> None:
    for number in range(99):
        lasting.value(SAVE, f"v{number}")

    with meanwhile(holdfast_db) as (first, ask):
        first.execute(SAVE, ["one"])
        asked = ask(SAVE, "another")
        until_it_waits(holdfast_db, asked)
        first.commit()

        assert asked.result() == "HF005"

    assert lasting.count("holdfast.saved_view") == 100
