"""All orders in which the statements of two sessions can come, found by trying: whatever was not chosen is chosen another time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from interleaving.sessions import Conductor, Operation, Place

_CAN_GO_ON = (Place.BEFORE, Place.PAUSED, Place.READY)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the sessions that could go on, and which could."""

    chosen: int
    possible: tuple[int, ...]


Schedule = tuple[Choice, ...]


def follow(
    conductor: Conductor, operations: tuple[Operation, Operation], wanted: tuple[int, ...]
) -> Schedule:
    """Lead both through the wanted choices, and from there on without leaving a session that can go on."""
    made: list[Choice] = []
    conductor.begin()
    while True:
        places = conductor.places()
        possible = tuple(number for number in (0, 1) if places[number] in _CAN_GO_ON)
        if not possible:
            assert places == (Place.OVER, Place.OVER), places
            return tuple(made)
        asked = wanted[len(made)] if len(made) < len(wanted) else made[-1].chosen
        chosen = asked if asked in possible else possible[0]
        made.append(Choice(chosen, possible))
        conductor.step(chosen, places[chosen], operations[chosen])


def schedules(run: Callable[[tuple[int, ...]], Schedule], most_switches: int | None) -> Iterator[Schedule]:
    """Run every schedule in which sessions that could go on are left at most so many times; None: every one there is."""
    open_ends: list[tuple[int, ...]] = [(0,), (1,)]
    while open_ends:
        wanted = open_ends.pop()
        made = run(wanted)
        yield made
        chosen = tuple(choice.chosen for choice in made)
        for place in range(len(wanted), len(made)):
            for other in made[place].possible:
                turned = (*chosen[:place], other)
                if other != made[place].chosen and (
                    most_switches is None or switches(made, turned) <= most_switches
                ):
                    open_ends.append(turned)


def switches(made: Schedule, chosen: tuple[int, ...]) -> int:
    """Count how often a session was left that could have gone on."""
    return sum(
        chosen[place] != chosen[place - 1] and chosen[place - 1] in made[place].possible
        for place in range(1, len(chosen))
    )
