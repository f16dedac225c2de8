import json
import signal
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen

from guarantees.waiting import until
from interfaces.calling import APP, PATIENCE, Cli

Start = Callable[..., Popen[str]]


def status(cli: Cli, job_id: str) -> str:
    found: str = cli.json("job", "show", job_id)["status"]
    return found


def test_until_idle_works_everything_off_and_ends(cli: Cli, process: Start) -> None:
    job_id = cli.enqueue("charge", '{"amount": 5}')

    worker = process("-a", APP, "worker", "--until-idle", "-q", "billing:5", "-c", "5")
    out, err = worker.communicate(timeout=PATIENCE)

    assert worker.returncode == 0, err
    assert out == ""
    assert "job:completed" in err
    assert status(cli, job_id) == "COMPLETED"


def test_queues_whose_names_hold_separators_are_served(cli: Cli, process: Start) -> None:
    names = ["mail,eu", "urn:mail", "mail:5", "a b", "a/b", "a\\b"]
    job_ids = [cli.enqueue("charge", '{"amount": 5}', "--queue", name) for name in names]
    other = cli.enqueue("charge", '{"amount": 5}', "--queue", "mail")

    worker = process(
        "-a", APP, "worker", "--until-idle", "-q", r"mail\,eu:2, urn:mail:1,mail\:5,a b,a/b,a\\b"
    )
    _, err = worker.communicate(timeout=PATIENCE)

    assert worker.returncode == 0, err
    assert {status(cli, job_id) for job_id in job_ids} == {"COMPLETED"}
    assert status(cli, other) == "PENDING"
    (listed,) = cli.json("worker", "list")
    assert set(listed["queues"]) == set(names)


def test_what_is_no_queue_is_refused_with_how_to_write_a_separator(cli: Cli) -> None:
    refused = cli("-a", APP, "worker", "-q", "urn:mail", code=2)

    assert "'urn:mail' is not NAME or NAME:SLOTS" in refused.stderr
    assert r"written \, or \:" in refused.stderr


def test_json_logs_bind_the_job(cli: Cli, process: Start) -> None:
    job_id = cli.enqueue("charge", '{"amount": 5}')

    worker = process("worker", "--until-idle", HOLDFAST_APP=APP, HOLDFAST_LOG_FORMAT="json")
    _, err = worker.communicate(timeout=PATIENCE)

    lines = [json.loads(line) for line in err.splitlines()]
    (own,) = [line for line in lines if line["event"] == "charging 5"]
    assert own["job_id"] == job_id
    assert {"worker:started", "job:processing", "job:completed", "worker:stopped"} <= {
        line["event"] for line in lines
    }


def test_little_logging_still_keeps_the_tasks_own_lines(cli: Cli, process: Start) -> None:
    job_id = cli.enqueue("charge", '{"amount": 5}')

    _, err = process("-a", APP, "worker", "--until-idle", "--log-level", "error").communicate(
        timeout=PATIENCE
    )

    assert err == ""
    assert [line["message"] for line in cli.json("job", "show", job_id)["attempts"][0]["logs"]] == [
        "charging 5"
    ]


def test_sigterm_releases_and_ends_although_a_thread_is_stuck(cli: Cli, process: Start) -> None:
    job_id = cli.enqueue("hang", '{"seconds": 600}')
    worker = process("-a", APP, "worker", "--drain-timeout", "0.2")
    until("the job runs", lambda: status(cli, job_id) == "RUNNING")

    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=PATIENCE)

    assert worker.returncode == 0
    assert status(cli, job_id) == "RETRY"
    assert "released" in cli.json("job", "show", job_id)["sentence"]


def test_a_second_ctrl_c_forces_the_end(cli: Cli, process: Start) -> None:
    job_id = cli.enqueue("slow", '{"seconds": 600}')
    worker = process("-a", APP, "worker", "--drain-timeout", "300")
    until("the job runs", lambda: status(cli, job_id) == "RUNNING")

    worker.send_signal(signal.SIGINT)
    read_until(worker, "worker:draining")
    worker.send_signal(signal.SIGINT)
    worker.communicate(timeout=PATIENCE)

    assert worker.returncode == 130
    assert status(cli, job_id) == "RETRY"


def test_bad_worker_options_are_usage_errors(cli: Cli) -> None:
    assert "is not NAME or NAME:SLOTS" in cli("-a", APP, "worker", "-q", "billing:many", code=2).stderr
    assert "from --lease" in cli("-a", APP, "worker", "--lease", "0", code=2).stderr
    assert "has no tasks" in cli("-a", "interfaces.shop_app:empty", "worker", code=2).stderr


def test_dev_ends_on_sigterm_and_drains(process: Start) -> None:
    dev = process("-a", APP, "dev")
    seen = read_until(dev, "worker:started")

    dev.send_signal(signal.SIGTERM)
    dev.communicate(timeout=PATIENCE)

    assert dev.returncode == 0
    assert any("Ctrl-C stops (drains)" in line for line in seen)
    assert any(APP in line for line in seen)


def test_dev_starts_the_worker_again_when_the_code_changes(process: Start, tmp_path: Path) -> None:
    code = "from holdfast import Holdfast\napp = Holdfast()\n@app.task()\nasync def one() -> None: ...\n"
    (tmp_path / "little.py").write_text(code)
    dev = process("-a", "little:app", "dev", "--reload", folder=tmp_path)
    read_until(dev, "worker:started")

    (tmp_path / "little.py").write_text(code + "@app.task()\nasync def two() -> None: ...\n")

    read_until(dev, "little.py changed")
    read_until(dev, "worker:started")
    dev.send_signal(signal.SIGTERM)
    dev.communicate(timeout=PATIENCE)
    assert dev.returncode == 0


def read_until(process: Popen[str], words: str) -> list[str]:
    """Read what a process says until it says this."""
    assert process.stderr is not None
    seen: list[str] = []
    while not seen or words not in seen[-1]:
        seen.append(process.stderr.readline())
        assert seen[-1], seen
    return seen
