"""What the auditor advises is something that a person can do."""

import pytest

from holdfast.domain.audit import RULES


@pytest.mark.parametrize("code", ["B04", "B08"])
def test_of_two_jobs_that_should_be_one_that_is_cancelled_which_can_be(code: str) -> None:
    assert "cancel one that has not ended (holdfast job cancel)" in RULES[code].advice
    assert "holdfast job delete" in RULES[code].advice


def test_who_waits_for_a_lock_is_helped_by_ending_who_holds_it() -> None:
    assert "pg_blocking_pids(pid) says who holds it" in RULES["I03"].advice
    assert "pg_terminate_backend" in RULES["I03"].advice
