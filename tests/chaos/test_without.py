"""A run can do without any guard that has a mutant, by its name."""

from pathlib import Path

import psycopg
import pytest

from chaos.without import NoSuchGuardError, Without
from guarantees.mutation import ROOT
from holdfast.testing import ScratchDatabase

FINISHER = "holdfast/runtime/finisher.py"
TRIGGERS = "select count(*) from pg_trigger where tgname in ('record_births', 'guard_stay')"


def test_a_guard_that_is_python_is_missing_in_a_copy_and_in_no_other_file(tmp_path: Path) -> None:
    source = Without.named(["finisher_gives_up", "keys_without_index"]).patched_source(tmp_path)

    assert source is not None
    assert (source / FINISHER).read_text("utf-8") != (ROOT / "src" / FINISHER).read_text("utf-8")
    changed = [
        str(file.relative_to(source))
        for file in source.rglob("*.py")
        if file.read_bytes() != (ROOT / "src" / file.relative_to(source)).read_bytes()
    ]
    assert changed == [FINISHER]


def test_guards_that_are_sql_are_missing_together(holdfast_db: ScratchDatabase) -> None:
    without = Without.named(["births_not_recorded", "guard_stay_dropped"])
    assert without.patched_source(Path("nowhere")) is None

    with psycopg.connect(holdfast_db.owner_url) as connection:
        assert connection.execute(TRIGGERS).fetchall() == [(2,)]
    without.apply_to(holdfast_db.owner_url, None)

    with psycopg.connect(holdfast_db.owner_url) as connection:
        assert connection.execute(TRIGGERS).fetchall() == [(0,)]


def test_a_guard_that_no_mutant_takes_away_cannot_be_done_without() -> None:
    with pytest.raises(NoSuchGuardError, match=r"there is no fence_at_large\.sql"):
        Without.named(["no_fence", "fence_at_large"])
