"""`holdfast alert`, and what doctor says about the outbox."""

import importlib
import json
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from holdfast.testing import ScratchDatabase
from interfaces import alert_app
from interfaces.calling import Cli
from world.draining import drain
from world.receivers import Endpoint, http_endpoint

APP = "interfaces.alert_app:app"


@pytest.fixture
def watched(holdfast_db: ScratchDatabase, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give the app with one alert that was told to a real endpoint."""
    with http_endpoint(Endpoint()) as endpoint:
        monkeypatch.setenv("ALERT_TEST_URL", endpoint.url)
        module = importlib.reload(alert_app)
        app = holdfast_db.use(module.app)
        drain(app)
        app.tasks["breaks"].enqueue()
        drain(app)
        yield endpoint


@pytest.mark.usefixtures("watched")
def test_alert_list_and_show_tell_what_was_found_and_who_was_told(cli: Cli) -> None:
    (found,) = cli.json("alert", "list")
    assert (found["rule"], found["status"], found["message"]) == (
        "broken",
        "open",
        "a job of task breaks FAILED",
    )

    shown = cli.json("alert", "show", found["id"])

    (notification,) = shown["notifications"]
    assert (notification["channel"], notification["kind"], notification["state"]) == (
        "ops",
        "opened",
        "delivered",
    )
    text = cli("alert", "show", found["id"]).stdout
    assert "holdfast job show" in text
    assert "delivered" in text
    assert "broken" in cli("alert", "list").stdout


@pytest.mark.usefixtures("watched")
def test_rules_are_listed_and_muted(cli: Cli) -> None:
    assert [(each["name"], each["open"]) for each in cli.json("alert", "rules")] == [
        ("broken", 1),
        ("many", 0),
    ]

    assert "muted" in cli("alert", "mute", "many").stdout
    assert [each["enabled"] for each in cli.json("alert", "rules")] == [True, False]
    assert "muted" in cli("alert", "rules").stdout
    cli("alert", "unmute", "many")

    assert [each["enabled"] for each in cli.json("alert", "rules")] == [True, True]


@pytest.mark.usefixtures("watched")
def test_holdfasts_own_tasks_are_listed_only_when_asked_for(cli: Cli) -> None:
    assert [each["name"] for each in cli.json("task", "list")] == ["breaks"]
    assert "holdfast.notify.ops" in [each["name"] for each in cli.json("task", "list", "--all")]


def test_what_is_not_there_is_said_with_exit_code_4(cli: Cli) -> None:
    assert "alert list" in cli("alert", "show", str(uuid4()), code=4).stderr
    assert "alert rules" in cli("alert", "mute", "nothing", code=4).stderr
    assert "ops" in cli("-a", APP, "alert", "test", "pager", code=4).stderr
    assert "no alert is open" in cli("alert", "list").stderr
    assert "no rule is declared" in cli("alert", "rules").stderr


def test_alert_test_sends_a_real_message_or_says_why_not(cli: Cli, watched: Endpoint) -> None:
    told = cli.json("-a", APP, "alert", "test", "ops")

    assert watched.ids[-1] == told["id"]
    assert json.loads(watched.bodies[-1])["type"] == "notification.test"
    watched.answers = [404]
    assert "answered 404" in cli("-a", APP, "alert", "test", "ops", code=1).stderr


def checks(cli: Cli, code: int = 0) -> dict[str, Any]:
    return {each["name"]: each for each in cli.json("doctor", code=code)["checks"]}


def test_doctor_tells_of_messages_that_did_not_go_out(
    cli: Cli, watched: Endpoint, holdfast_db: ScratchDatabase
) -> None:
    assert checks(cli)["notifications"]["verdict"] == "ok"
    watched.answers = [404]
    alert_app.app.notify("ops", "Hello", "text")
    drain(alert_app.app)
    alert_app.app.notify("ops", "Hello", "text")
    holdfast_db.clock.advance(900)

    found = checks(cli, code=3)["notifications"]  # 3: nobody serves the queue any more

    assert found["verdict"] == "warn"
    assert "1 could not be delivered, 1 wait for longer" in found["found"]


def test_doctor_names_rules_that_nobody_would_hear_of(cli: Cli, owner: psycopg.Connection[Any]) -> None:
    owner.execute(
        """select holdfast.register_alerts('a', '[]', '[{"name": "unheard", "kind": "failures", "severity": "info", "threshold": 1, "period": 60, "channels": []}]')"""
    )

    assert "unheard" in checks(cli)["alert rules"]["found"]
