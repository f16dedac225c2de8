"""The tests of this folder are worth something: each fails when the guard it tests is taken away."""

import re
import shutil
from pathlib import Path

import psycopg

from guarantees.controls import PAGE, kept, known, page
from guarantees.mutation import ROOT, apply_patch, judge_all, mutants, patched_files, table
from holdfast.testing import ScratchDatabase
from world.named import missing
from world.without import WITHOUT

SABOTAGE = ROOT / "tests" / "chaos" / "sabotage"  # what takes more than one guard away, for scripts/chaos


def test_the_guards_at_the_core_are_each_missed_when_they_are_gone() -> None:
    verdicts = judge_all([mutant for mutant in mutants() if mutant.pace == "core"])

    assert len(verdicts) >= 6
    assert [one for one in verdicts if not one.killed] == [], table(verdicts)


def test_every_mutant_names_a_test_that_exists() -> None:
    assert missing(re.sub(r"\[.*\]$", "", mutant.dies) for mutant in mutants()) == []


def test_every_mutant_stands_in_the_table_and_no_other() -> None:
    rows = re.findall(r"^\| .+ \| `([\w.]+)` \| `tests/.+$", PAGE.read_text("utf-8"), re.MULTILINE)

    assert rows == [mutant.file.name for mutant in mutants()]
    assert PAGE.read_text("utf-8") == page(), "run scripts/mutants --table --missing"


def test_every_mutant_was_run_as_it_is_and_killed() -> None:
    told = known()

    assert [mutant.file.name for mutant in mutants() if mutant.file.name not in told] == []


def test_no_mutant_needs_more_strikes_than_it_says() -> None:
    most = {mutant.file.name: mutant.strikes for mutant in mutants()}

    assert [name for name, control in kept().items() if control["strikes"] > most.get(name, 0)] == []


def test_every_patch_fits_the_source_as_it_is(tmp_path: Path) -> None:
    unfit = []
    for mutant in mutants():
        if mutant.is_patch:
            place, patch = tmp_path / mutant.file.stem, mutant.file.read_text("utf-8")
            for name in patched_files(patch):
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, place / name)
            try:
                apply_patch(patch, place)
            except ValueError as error:
                unfit.append(f"{mutant.file.name}: {error}")

    assert unfit == []


def test_every_mutant_of_the_machine_finds_its_guard_there(holdfast_db: ScratchDatabase) -> None:
    unfit = []
    with psycopg.connect(holdfast_db.owner_url) as connection:
        connection.execute(WITHOUT)
        for file in [*(one.file for one in mutants() if not one.is_patch), *SABOTAGE.glob("*.sql")]:
            try:
                with connection.transaction(force_rollback=True):
                    connection.execute(file.read_text("utf-8"))
            except psycopg.Error as error:
                unfit.append(f"{file.name}: {error}")

    assert unfit == []
