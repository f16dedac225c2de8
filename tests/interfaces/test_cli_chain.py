"""`holdfast audit --chain`, and heads of chains that are kept in a file and compared with later."""

import json
import os
import re
import subprocess
import tracemalloc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from guarantees.past import Past
from holdfast.domain.errors import BadInput
from holdfast.interfaces.auditing import Audit
from holdfast.interfaces.kept_heads import HeadsFile, KeptHeads
from holdfast.store.connection import Database, Session
from holdfast.testing import ScratchDatabase
from interfaces.calling import HOLDFAST, Cli
from sql.support import machine_on

Owner = psycopg.Connection
GUARDED = ("job", "job_history")


@pytest.fixture
def past(holdfast_db: ScratchDatabase) -> Past:
    with machine_on(holdfast_db.owner_url) as machine:
        return Past(machine)


@contextmanager
def unguarded(owner: Owner) -> Iterator[None]:
    """Let the owner write what the guards would refuse, and put them back as they were."""
    for table in GUARDED:
        owner.execute(f"alter table holdfast.{table} disable trigger user")
    yield
    for table in GUARDED:
        for (name,) in owner.execute(
            "select tgname from pg_trigger where tgrelid = %s::regclass and not tgisinternal",
            (f"holdfast.{table}",),
        ).fetchall():
            owner.execute(f"alter table holdfast.{table} enable always trigger {name}")


def rewrite(owner: Owner, job_id: UUID) -> None:
    with unguarded(owner):
        owner.execute(
            "update holdfast.job_history set actor = 'ann' where job_id = %s and seq = 2", (job_id,)
        )


def rewrite_with_its_head(owner: Owner, job_id: UUID) -> None:
    rewrite(owner, job_id)
    with unguarded(owner):
        owner.execute("update holdfast.job set chain = holdfast.head_of(id) where id = %s", (job_id,))


def why_not(told: Any) -> list[str]:
    return [each["why"] for each in told["not_checked"] if each["codes"] == ["H07"]]


def test_a_history_that_somebody_changed_is_found_with_chain_and_without_it_that_is_said(
    cli: Cli, past: Past, owner: Owner
) -> None:
    assert cli.json("audit", "--chain")["clean"]
    rewrite(owner, past.ids["done"])

    told, otherwise = cli.json("audit", "--chain", code=3), cli.json("audit")

    (finding,) = told["findings"]
    assert (finding["code"], finding["job_id"]) == ("H07", str(past.ids["done"]))
    assert "a row was changed, added or taken out" in finding["what"]
    assert "compare with a backup" in finding["advice"]
    assert (why_not(told), why_not(otherwise)) == ([], ["chains were not computed anew: --chain"])
    assert cli.json("audit", "--chain", "--job", str(past.ids["failed"]))["clean"]
    assert not cli.json("audit", "--chain", "--job", str(past.ids["done"]), code=3)["clean"]


@pytest.mark.parametrize("slices", [1, 3, 5000])
def test_a_history_that_was_rewritten_with_its_head_is_found_by_what_was_kept(
    cli: Cli, past: Past, owner: Owner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slices: int
) -> None:
    monkeypatch.setattr("holdfast.interfaces.auditing.SLICE", slices)
    kept = str(tmp_path / "kept.jsonl")
    assert f"heads in {kept}: take the file where nobody" in cli("audit", "--keep", kept).stderr
    assert cli("audit", "--compare", kept).stdout == ""
    rewrite_with_its_head(owner, past.ids["kept"])

    assert cli.json("audit", "--chain")["clean"]
    told = cli.json("audit", "--compare", kept, code=3)

    assert [each["what"] for each in told["findings"]] == [
        "its history up to row 3 is not the one whose head was kept"
    ]
    assert not cli.json("audit", "--compare", kept, "--job", str(past.ids["kept"]), code=3)["clean"]
    assert cli.json("audit", "--compare", kept, "--job", str(past.ids["failed"]))["clean"]


def test_what_is_kept_is_a_line_for_each_job_between_what_it_is_and_how_many(
    cli: Cli, past: Past, owner: Owner, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.jsonl"
    cli("audit", "--keep", str(kept))

    first, *heads, last = [json.loads(line) for line in kept.read_text().splitlines()]

    assert (first["holdfast"], first["format"], last) == ("heads of chains", 1, {"heads": len(heads)})
    rows = owner.execute("select id::text, seq, encode(chain, 'hex') from holdfast.job").fetchall()
    assert sorted((each["job"], each["seq"], each["head"]) for each in heads) == sorted(rows)
    assert str(past.ids["done"]) in kept.read_text()


def test_heads_are_kept_of_what_was_looked_at(holdfast_db: ScratchDatabase, past: Past, owner: Owner) -> None:
    """What is rewritten after its chain was computed is not kept as if it had been found right."""
    rewrite(owner, past.ids["done"])
    kept: dict[UUID, str] = {}
    before = owner.execute(
        "select encode(chain, 'hex') from holdfast.job where id = %s", (past.ids["failed"],)
    ).fetchone()
    with closing(Session(Database(holdfast_db.url, "test"), "holdfast audit")) as session:
        walk = Audit(session, chains=True, keep=lambda head: kept.update({head.job_id: head.digest}))
        for finding in walk.findings():
            assert finding.job_id == past.ids["done"]
            rewrite_with_its_head(owner, past.ids["failed"])

    assert (kept[past.ids["failed"]],) == before


@pytest.mark.usefixtures("past")
def test_evidence_is_never_written_over(cli: Cli, tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    cli("audit", "--keep", str(kept))
    before = kept.read_bytes()

    told = cli("audit", "--keep", str(kept), code=2)

    assert "is there already" in told.stderr
    assert "another name" in told.stderr
    assert kept.read_bytes() == before


def test_heads_of_half_an_audit_are_not_kept(cli: Cli, past: Past, owner: Owner, tmp_path: Path) -> None:
    rewrite(owner, past.ids["done"])
    kept = str(tmp_path / "kept.jsonl")

    stopped = cli("audit", "--keep", kept, "--most", "1", code=3)
    with owner.transaction():
        owner.execute("lock table holdfast.usage in access exclusive mode")
        cli("audit", "--keep", kept, "--timeout", "1", code=75)

    assert "no heads were kept: the audit stopped at --most 1" in stopped.stderr
    assert list(tmp_path.iterdir()) == []


def test_heads_are_not_kept_where_nobody_may_write(cli: Cli, tmp_path: Path) -> None:
    told = cli("audit", "--keep", str(tmp_path / "nowhere" / "kept.jsonl"), code=2)

    assert "nowhere/kept.jsonl: No such file or directory" in told.stderr


@pytest.mark.parametrize(
    ("name", "says"),
    [("k" * 300, "File name too long"), ("k" * 250, "File name too long"), ("", "is there already")],
)
def test_a_name_that_no_file_can_have_is_an_error_in_words(
    cli: Cli, tmp_path: Path, name: str, says: str
) -> None:
    told = cli("audit", "--keep", str(tmp_path / name) if name else "", code=2)

    assert says in told.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_not_replaced_even_if_it_leads_nowhere(cli: Cli, tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    kept.symlink_to(tmp_path / "nowhere")

    told = cli("audit", "--keep", str(kept), code=2)

    assert "is there already" in told.stderr
    assert kept.is_symlink()


@pytest.mark.usefixtures("past")
def test_what_lies_where_an_earlier_audit_was_killed_is_not_written_to(cli: Cli, tmp_path: Path) -> None:
    kept, other = tmp_path / "kept.jsonl", tmp_path / "other"
    other.write_text("precious")
    (tmp_path / ".kept.jsonl.part").symlink_to(other)

    cli("audit", "--keep", str(kept))

    assert other.read_text() == "precious"
    assert not kept.is_symlink()


def test_a_file_that_came_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    with HeadsFile(kept, datetime.now(UTC)) as first, HeadsFile(kept, datetime.now(UTC)) as second:
        first.end()
        before = kept.read_bytes()

        with pytest.raises(BadInput, match="is there already"):
            second.end()

    assert kept.read_bytes() == before
    assert list(tmp_path.iterdir()) == [kept]


@pytest.mark.usefixtures("past")
def test_a_disk_that_is_full_is_said_and_nothing_is_left_there(
    holdfast_db: ScratchDatabase, tmp_path: Path
) -> None:
    """One block, and then no more: the heads of this past are several thousand bytes."""
    kept = tmp_path / "kept.jsonl"
    audited = [*HOLDFAST, "--database-url", holdfast_db.url, "audit", "-o", "json", "--keep", str(kept)]

    # Python would cut off what it compiles too, and everybody would read that later.
    ended = subprocess.run(
        ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *audited],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )

    assert (ended.returncode, "Traceback" in ended.stderr) == (75, False)
    assert f"heads: they cannot be kept in {kept}: File too large" in ended.stderr
    assert not json.loads(ended.stdout)["finished"]
    assert list(tmp_path.iterdir()) == []


def test_a_job_that_is_gone_since_is_counted_and_no_finding(
    cli: Cli, past: Past, owner: Owner, tmp_path: Path
) -> None:
    kept = str(tmp_path / "kept.jsonl")
    cli("audit", "--keep", kept)
    owner.execute("select holdfast.delete_job(%s, 'ann')", (past.ids["cancelled"],))

    told = cli.json("audit", "--compare", kept)

    why = "; ".join(why_not(told))
    assert told["clean"]
    assert re.search(rf"of \d+ jobs in .* 1 are not there any more, {past.ids['cancelled']} first", why)


def test_a_job_that_is_asked_for_and_gone_is_not_found_and_its_head_is_told_of(
    cli: Cli, past: Past, owner: Owner, tmp_path: Path
) -> None:
    kept, gone = str(tmp_path / "kept.jsonl"), str(past.ids["cancelled"])
    cli("audit", "--keep", kept)
    owner.execute("select holdfast.delete_job(%s, 'ann')", (gone,))

    told, otherwise = (
        cli("audit", "--compare", kept, "--job", gone, code=4),
        cli("audit", "--chain", "--job", gone, code=4),
    )

    assert f"no job has the id {gone} any more, and {kept} has its head" in told.stderr
    assert otherwise.stderr.rstrip().endswith(f"no job has the id {gone}")


def test_a_file_without_the_job_that_is_asked_for_says_so(
    cli: Cli, past: Past, owner: Owner, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.jsonl"
    cli("audit", "--keep", str(kept), "--job", str(past.ids["failed"]))

    told = cli.json("audit", "--compare", str(kept), "--job", str(past.ids["done"]))

    assert why_not(told) == [f"{kept} has no head of this job"]


def test_jobs_from_before_there_were_chains_are_counted_and_no_finding(
    cli: Cli, past: Past, owner: Owner
) -> None:
    with unguarded(owner):
        owner.execute("update holdfast.job set chain = null where id = %s", (past.ids["done"],))
        owner.execute("update holdfast.installed set at = clock_timestamp() where what = 'chain'")

    told = cli.json("audit", "--chain")

    assert told["clean"]
    assert why_not(told) == ["1 jobs have not moved since there are chains, and have none"]


HEAD = '{"job": "0198f2c4-0000-7000-8000-000000000000", "seq": 1, "head": "' + "0" * 64 + '"}'
FIRST = '{"holdfast": "heads of chains", "format": 1, "at": "2026-01-01T00:00:00+00:00"}'
LAST = '{"heads": 1}'


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([], "it ends after line 0, without the count of its heads"),
        ([FIRST], "it ends after line 1, without the count of its heads"),
        ([FIRST, HEAD], "it ends after line 2, without the count of its heads"),
        ([json.dumps({"heads": -1})], "line 1 is not as holdfast audit --keep writes it"),
        ([HEAD, LAST], "line 1 is not as holdfast audit --keep writes it"),
        ([FIRST, HEAD, HEAD, LAST], "line 4 is not as holdfast audit --keep writes it"),
        ([FIRST, HEAD, LAST, HEAD], "line 4 is not as holdfast audit --keep writes it"),
        ([FIRST, HEAD, LAST, LAST], "line 4 is not as holdfast audit --keep writes it"),
        ([FIRST, FIRST, LAST], "line 2 is not as holdfast audit --keep writes it"),
        ([FIRST, "", LAST], "line 2 is not as holdfast audit --keep writes it"),
        ([FIRST, "[1]", LAST], "line 2 is not as holdfast audit --keep writes it"),
        ([FIRST, "\0\ufffd", LAST], "line 2 is not as holdfast audit --keep writes it"),
        ([FIRST, HEAD.replace("0198f2c4", "0198f2cg"), LAST], "line 2 is not as holdfast audit --keep writes it"),
        ([FIRST, HEAD.replace('00"}', '0"}'), LAST], "line 2 is not as holdfast audit --keep writes it"),
        ([FIRST, HEAD.replace('"seq": 1', '"seq": 99999999999999999999'), LAST], "line 2 is not as holdfast audit --keep writes it"),
        ([FIRST, HEAD.replace('"seq": 1', '"seq": 0'), LAST], "line 2 is not as holdfast audit --keep writes it"),
        ([FIRST, HEAD.replace('"seq": 1', '"seq": true'), LAST], "line 2 is not as holdfast audit --keep writes it"),
        ([FIRST, HEAD, '{"heads": true}'], "line 3 is not as holdfast audit --keep writes it"),
        ([FIRST, "[" * 100_000, LAST], "line 2 is not as holdfast audit --keep writes it"),
        ([FIRST.replace("heads", "\\u001b[2Jheads"), HEAD, LAST], r"has \u001b[2Jheads of chains in format 1, which this release does not read"),
        ([FIRST.replace('"format": 1', '"format": 2'), HEAD, LAST], "has heads of chains in format 2, which this release does not read"),
        ([FIRST.replace("heads of chains", "tails"), HEAD, LAST], "has tails in format 1, which this release does not read"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_as_it_was_written_is_refused_before_anything_is_compared(
    cli: Cli, tmp_path: Path, lines: list[str], says: str
) -> None:
    kept = tmp_path / "kept.jsonl"
    kept.write_text("".join(f"{line}\n" for line in lines))

    told = cli("audit", "--compare", str(kept), code=2)

    assert told.stdout == ""
    assert says in " ".join(told.stderr.split())
    assert "not finished" not in told.stderr  # it did not begin


def test_a_head_of_another_database_is_of_a_job_that_is_gone(cli: Cli, tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    kept.write_text(f"{FIRST}\n{HEAD}\n{LAST}\n")

    (why,) = why_not(cli.json("audit", "--compare", str(kept)))

    assert "of 1 jobs" in why


def test_a_folder_is_not_compared_with(cli: Cli, tmp_path: Path) -> None:
    assert "is a directory" in cli("audit", "--compare", str(tmp_path), code=2).stderr


def test_a_file_that_is_not_there_is_told(cli: Cli, tmp_path: Path) -> None:
    told = cli("audit", "--compare", str(tmp_path / "none"), code=2)

    assert f"there is no file {tmp_path / 'none'} to compare with" in told.stderr


def test_what_comes_through_a_pipe_is_not_compared_with(cli: Cli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    told = cli("audit", "--compare", str(tmp_path / "pipe"), code=2)

    assert "cannot be read twice, write it to a file first" in told.stderr


def test_a_line_without_an_end_is_not_read_to_it(tmp_path: Path) -> None:
    """How long it is must not be what it takes: a disk holds more than a memory."""
    with (tmp_path / "kept.jsonl").open("wb") as file:
        file.truncate(2**25)

    tracemalloc.start()
    try:
        with pytest.raises(BadInput, match="line 1 is not as"):
            KeptHeads(tmp_path / "kept.jsonl")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 2**20
