"""What the tests of schedules say often: a schedule, time that goes by, and a worker's pass."""

from datetime import timedelta
from typing import Any

from psycopg.types.json import Jsonb

from holdfast.domain.schedule import plan
from holdfast.store.schedule import fire_schedule, read_due
from sql.support import Machine, Row

HOUR = 3600


class Timetable:
    """A machine with one schedule `s` of task `t`, every hour unless told otherwise."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def create(self, name: str = "s", *, replace: bool = False, **settings: Any) -> None:
        given = {"name": name, "task": "t", **({} if "cron" in settings else {"every": HOUR}), **settings}
        self.machine.run("select holdfast.create_schedule(%s, %s)", Jsonb(given), replace)

    def row(self, name: str = "s") -> Row:
        return self.machine.one("select * from holdfast.schedule where name = %s", name)

    def runs(self, name: str = "s") -> list[Row]:
        return self.machine.rows(
            "select * from holdfast.schedule_run where schedule = %s order by slot", name
        )

    def due(self) -> list[Row]:
        listed: list[Row] = self.machine.value("select due from holdfast.due_schedules(100)")
        return listed

    def fire(self, **other: Any) -> int | None:
        """Settle `s` as a worker does, or with something of it replaced."""
        row = self.row()
        now = self.machine.value("select holdfast.clock()")
        first = row["settled_to"] if row["next_at"] is None else row["next_at"]
        usual = {
            "name": "s", "version": row["version"], "settled_to": row["settled_to"],
            "slots": [first], "missed": [], "times": 0, "next": now + timedelta(hours=1),
        }  # fmt: skip
        given = {**usual, **other}
        fired: int | None = self.machine.value(
            "select holdfast.fire_schedule(%s, %s, %s, %s::timestamptz[], %s::timestamptz[], %s, %s)",
            *given.values(),
        )
        return fired

    def settle(self) -> None:
        """Do what a worker's pass does."""
        for each in self.due():
            due = read_due(each)
            call = fire_schedule(due, plan(due))
            self.machine.run(call.sql.replace("%t", "%s"), *call.parameters)
