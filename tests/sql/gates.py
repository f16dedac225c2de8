"""What the tests of limits, rates, pauses and flags say often."""

from typing import Any
from uuid import UUID

from sql.support import Machine, Row


def limited(
    machine: Machine, name: str = "t", most: int = 1, key: str = "user:{user_id}", **more: Any
) -> None:
    machine.register(name, options={"limits": [{"key": key, "max": most, **more}]})


def rated(machine: Machine, most: int = 2, per: float = 60.0, key: str = "api", name: str = "t") -> None:
    machine.register(name, options={"rates": [{"key": key, "max": most, "per": per}]})


def admit(machine: Machine, limit: int = 1000) -> Row:
    return machine.one("select * from holdfast.admit_due(%s)", limit)


def in_line(machine: Machine) -> set[UUID]:
    rows = machine.rows("select id from holdfast.job where claim_order is not null")
    return {row["id"] for row in rows}


def held(machine: Machine, job_id: UUID) -> str | None:
    text: str | None = machine.job(job_id)["held_by"]
    return text


def slots(machine: Machine, key: str) -> dict[int, UUID]:
    rows = machine.rows(
        "select n, job_id from holdfast.slot where key = %s and n is not null order by n", key
    )
    return {row["n"]: row["job_id"] for row in rows}
