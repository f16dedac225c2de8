import csv
import io
import json

from holdfast.testing import ScratchDatabase, drain
from interfaces.calling import Cli
from interfaces.shop_app import app as shop


def work(database: ScratchDatabase) -> None:
    drain(database.use(shop))
    shop.close()


def test_usage_is_listed_as_table_json_and_csv(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    cli.enqueue("charge", '{"amount": 5}', "--tenant", "acme")
    work(holdfast_db)

    [row] = json.loads(cli("usage", "--tenant", "acme", "-o", "json").stdout)
    [line] = csv.DictReader(io.StringIO(cli("usage", "-o", "csv").stdout))

    assert (row["tenant"], row["task"], row["runs"], row["completed"]) == ("acme", "charge", 1, 1)
    assert (line["tenant"], line["completed"], line["external_seconds"]) == ("acme", "1", "0.0")
    assert "acme" in cli("usage").stdout
    assert cli("usage", "--tenant", "nobody").stdout == ""
    assert cli("usage", "--to", "2001-01-01", "-o", "csv").stdout.count("\n") == 1


def test_no_name_is_a_formula_to_a_spreadsheet(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    names = ['=HYPERLINK("//x.test","a")', "@a", "-1", "+1", "a,b", 'a"b', "a\nb"]
    for name in names:
        cli.enqueue("charge", '{"amount": 5}', f"--tenant={name}")
    work(holdfast_db)

    lines = [*csv.DictReader(io.StringIO(cli("usage", "-o", "csv").stdout))]
    rows = json.loads(cli("usage", "-o", "json").stdout)

    safe = [f"'{name}" if name[0] in "=@-+" else name for name in names]
    assert sorted(line["tenant"] for line in lines) == sorted(safe)
    assert sorted(row["tenant"] for row in rows) == sorted(names)


def test_stats_show_success_and_durations_by_task(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    cli.enqueue("charge", '{"amount": 5}')
    work(holdfast_db)

    [row] = cli.json("stats", "--since", "1h", "--task", "charge")
    [standing] = cli.json("stats", "--queues")

    assert (row["completed"], row["success_rate"]) == (1, 1.0)
    assert (standing["queue"], standing["status"], standing["jobs"]) == ("billing", "COMPLETED", 1)
    assert "100.0%" in cli("stats").stdout
    assert "nothing moved" in cli("stats", "--task", "other").stderr


def test_events_are_read_followed_and_resumed(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    cli.enqueue("charge", '{"amount": 5}', "--subject", "order-7")
    work(holdfast_db)

    lines = cli("events", "subject:order-7", "-o", "jsonl").stdout.splitlines()
    last = cli("events", "subject:order-7", "--after", "2", "-f", "--limit", "1", "-o", "id").stdout

    assert [json.loads(line)["kind"] for line in lines] == ["job.enqueued", "job.started", "job.completed"]
    assert last.strip() == "3"
    assert "job.completed" in cli("events", "subject:order-7").stdout
    assert cli("events", "subject:order-8").stderr == "channel subject:order-8 has no events\n"


def test_a_quota_is_set_shown_and_enforced(cli: Cli, holdfast_db: ScratchDatabase) -> None:
    cli.enqueue("charge", '{"amount": 5}', "--tenant", "acme")
    work(holdfast_db)
    cli("quota", "set", "acme", "--soft", "1", "--hard", "1")

    [row] = cli.json("quota", "list")
    refused = cli(
        "-a", "interfaces.shop_app:app", "enqueue", "charge", '{"amount": 5}', "--tenant", "acme", code=5
    )

    assert (row["tenant"], row["used"], row["hard"]) == ("acme", 1.0, 1.0)
    assert "has reached its quota" in refused.stderr
    cli("quota", "set", "acme")
    assert "no tenant has a quota" in cli("quota", "list").stderr
