"""Two operations meet in a scene: however their statements are ordered, it ends as if one had come after the other."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

from guarantees.audit import broken_rules
from interleaving.explore import Run, Schedule, follow
from interleaving.operations import OPERATIONS, Operation
from interleaving.scenes import SCENES, Facts, Scene, clear, ended_by_strangers, fingerprint
from interleaving.sessions import Conductor
from sql.support import Machine
from world import strikes

# Which schedules are run.
Search = Callable[[Run], Iterable[Schedule]]
PAIRS = tuple(combinations_with_replacement(OPERATIONS, 2))


@dataclass(frozen=True, slots=True)
class End:
    """What both were told, and what became of the scene."""

    told: tuple[str, ...]
    state: str


@dataclass(frozen=True, slots=True)
class Fault:
    """A schedule that ended as neither order of the two does."""

    pair: str
    scene: str
    schedule: str  # which of the two made each step
    ended: End
    allowed: tuple[End, ...]

    def __str__(self) -> str:
        allowed = "\n".join(f"    {end}" for end in self.allowed)
        return f"{self.pair} on a job that is {self.scene}, steps {self.schedule}:\n  {self.ended}\n  but one after the other:\n{allowed}"


class Meeting:
    """A pair of operations in one scene."""

    def __init__(self, conductor: Conductor, machine: Machine, scene: Scene, *pair: Operation) -> None:
        self._conductor, self._machine, self._scene, self._pair = conductor, machine, scene, pair
        self._ends: dict[Schedule, End] = {}
        self.tried = self.waited = 0
        self.strayed = 0  # schedules that could not be had as they were asked for

    def faults(self, search: Search) -> Iterator[Fault]:
        """Try the orders that are searched; tell what ends neither as one after the other nor as the other after the one."""
        serial: dict[tuple[int, ...], End] = {}
        known: dict[tuple[int, ...], Schedule] = {}

        def run(wanted: tuple[int, ...]) -> Schedule:
            if wanted not in known:
                made = self._run(wanted)
                if len(wanted) > 1:
                    return made
                known[wanted], serial[wanted] = made, self._ends[made]
            return known[wanted]

        for made in search(run):
            ended = self._ends[made]
            for first in ((0,), (1,)):
                if ended not in serial.values():
                    run(first)
            if ended not in (allowed := tuple(dict.fromkeys(serial.values()))):
                steps = "".join(str(choice.chosen) for choice in made)
                names = " and ".join(operation.name for operation in self._pair)
                yield Fault(names, self._scene.__name__, steps, ended, allowed)

    def ends(self, search: Search) -> set[End]:
        """Tell of all orders that are searched how they ended before anybody came again."""
        found: set[End] = set()

        def note(facts: Facts) -> None:
            told = tuple(told.refusal or told.answer for told in self._conductor.told())
            found.add(End(told, fingerprint(self._machine, facts)))

        for _ in search(lambda wanted: self._run(wanted, note)):
            pass
        return found

    def _run(self, wanted: tuple[int, ...], at_first: Callable[[Facts], None] | None = None) -> Schedule:
        facts = self._scene(self._machine)
        first, second = (operation.on(facts) for operation in self._pair)
        made = follow(self._conductor, (first, second), wanted)
        self.tried += 1
        self.strayed += tuple(choice.chosen for choice in made[: len(wanted)]) != wanted
        self.waited += self._conductor.has_waited
        strikes.strike()
        if at_first:
            at_first(facts)
        self._ends[made] = self._end(facts)
        clear(self._machine, facts)
        return made

    def _end(self, facts: Facts) -> End:
        told = []
        for operation, (answer, refusal) in zip(self._pair, self._conductor.told(), strict=True):
            assert refusal is None or refusal in operation.refusals, f"{operation.name}: {refusal} {answer}"
            assert not (facts.stale and not refusal and operation.counted and operation.counted in answer), (
                f"{operation.name} by an attempt that lost the job: {answer}"
            )
            if operation.comes_again:
                operation.on(facts)(self._machine.connection)
            else:
                told.append(refusal or answer)
        # Whoever became free meanwhile is let in by the next look of any worker.
        self._machine.value("select holdfast.admit_due(10)")
        assert not (strangers := ended_by_strangers(self._machine, facts)), strangers
        assert not (broken := broken_rules(self._machine.connection)), broken
        return End(tuple(told), fingerprint(self._machine, facts))


def meetings(
    conductor: Conductor, machine: Machine, *pair: Operation, scenes: Iterable[Scene] = SCENES
) -> Iterator[Meeting]:
    """All scenes in which two operations can meet: both find something to do there."""
    for scene in scenes:
        facts = _facts_of(scene, machine)
        if all(operation.fits(facts) for operation in pair):
            yield Meeting(conductor, machine, scene, *pair)


# Only ids differ from one time to the next: who has something to do in a scene is seen once, and not again for every pair.
_facts: dict[Scene, Facts] = {}


def _facts_of(scene: Scene, machine: Machine) -> Facts:
    if scene not in _facts:
        facts = scene(machine)
        clear(machine, facts)
        _facts[scene] = facts
    return _facts[scene]
