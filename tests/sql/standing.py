"""What stands there for those who come for several: jobs that are due, that run, that the dead hold, that an executor is to get."""

from sql.runs import handed_over
from sql.support import Machine


def due(machine: Machine, many: int = 2) -> None:
    _enqueue(machine, many)
    machine.run("update holdfast.job set claim_order = null, due_at = now() - interval '1 second'")


def claimed(machine: Machine, many: int = 2) -> None:
    _enqueue(machine, many)
    machine.claim(machine.worker(), many)


def held_by_the_dead(machine: Machine, many: int = 2) -> None:
    claimed(machine, many)
    machine.run("update holdfast.worker set died_at = now()")


def planned(machine: Machine, many: int = 2) -> None:
    for _ in range(many):
        handed_over(machine)


def _enqueue(machine: Machine, many: int) -> None:
    machine.enqueue_many([{"task": "t", "payload": {}} for _ in range(many)])
