"""All orders in which the statements of two sessions can come, found by trying: whatever was not chosen is chosen another time."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from interleaving.sessions import Conductor, Operation, Place
from interleaving.touches import ANYTHING, Step

_CAN_GO_ON = (Place.BEFORE, Place.PAUSED, Place.READY)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the sessions that could go on, and which could."""

    chosen: int
    possible: tuple[int, ...]
    did: Step = field(compare=False)
    waited: bool = field(compare=False)  # for a lock of the other's, in the middle of it
    let_go: Step | None = field(compare=False)  # what the other did at once, which had waited for a lock


Schedule = tuple[Choice, ...]
Run = Callable[[tuple[int, ...]], Schedule]


def follow(
    conductor: Conductor, operations: tuple[Operation, Operation], wanted: tuple[int, ...]
) -> Schedule:
    """Lead both through the wanted choices, and from there on without leaving a session that can go on."""
    made: list[tuple[int, tuple[int, ...], int, bool, int | None]] = []
    conductor.begin()
    places = conductor.places()
    while possible := tuple(number for number in (0, 1) if places[number] in _CAN_GO_ON):
        asked = wanted[len(made)] if len(made) < len(wanted) else made[-1][0]
        chosen = asked if asked in possible else possible[0]
        other = conductor.sessions[1 - chosen]
        # Of one that waits in the middle of a step it is known at its end what it touched.
        at, at_other = conductor.sessions[chosen].stops, other.stops
        waits = places[1 - chosen] is Place.BLOCKED
        conductor.step(chosen, places[chosen], operations[chosen])
        places = conductor.places()
        goes_on = waits and places[1 - chosen] is not Place.BLOCKED
        waited = places[chosen] is Place.BLOCKED
        made.append((chosen, possible, at, waited, at_other if goes_on else None))
    assert places == (Place.OVER, Place.OVER), places
    steps = [session.steps() for session in conductor.sessions]
    schedule = tuple(
        Choice(
            chosen,
            possible,
            steps[chosen][at],
            waited,
            None if let_go is None else steps[1 - chosen][let_go],
        )
        for chosen, possible, at, waited, let_go in made
    )
    assert _shows_every_wait(schedule), schedule
    return schedule


def _shows_every_wait(made: Schedule) -> bool:
    """Check what the sessions told: whoever waits for the other meets something that the other did before, and what lets it go on."""
    return all(
        any(choice.did.meets(earlier.did) for earlier in made[:place] if earlier.chosen != choice.chosen)
        for place, choice in enumerate(made)
        if choice.waited
    ) and all(choice.did.meets(choice.let_go) for choice in made if choice.let_go)


def schedules(run: Run, most_switches: int | None) -> Iterator[Schedule]:
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


def sample(run: Run, chance: random.Random) -> Iterator[Schedule]:
    """Run one schedule that chance picks, in which one session is left somewhere before its commit."""
    first = chance.randrange(2)
    steps = sum(choice.chosen == first for choice in run((first,)))
    yield run((*[first] * chance.randrange(1, max(2, steps)), 1 - first))


# -- one of each kind -------------------------------------------------------------------------------------------------------

# Orders that only differ in neighbouring steps that do not meet end alike. To have one of each kind, every two steps that meet and could as
# well have come the other way round are exchanged, and a step that was tried at some place is not tried there again before something has
# come that meets it.


@dataclass(slots=True)
class _Place:
    """Where one of the sessions was chosen."""

    chosen: int
    possible: tuple[int, ...]
    tried: dict[int, Step]  # by session: what it did here
    asleep: dict[int, Step]  # what was tried before, and met nothing since
    wanted: bool = False  # the session that was not chosen


def kinds(run: Run) -> Iterator[Schedule]:
    """Run at least one of every kind of schedules."""
    path: list[_Place] = []
    wanted: tuple[int, ...] = ()
    while True:
        made = run(wanted or (0,))
        yield made
        path = _walk(path[: len(wanted)], made)
        for first in _exchangeable(made):
            place = path[first]
            other = 1 - place.chosen
            place.wanted |= other in place.possible and other not in place.tried and other not in place.asleep
        while path and not path[-1].wanted:
            path.pop()
        if not path:
            return
        turned = path[-1]
        turned.chosen, turned.wanted = 1 - turned.chosen, False
        wanted = tuple(place.chosen for place in path)


def _walk(path: list[_Place], made: Schedule) -> list[_Place]:
    """Go the whole way that was made, the beginning of which is known."""
    asleep: dict[int, Step] = {}
    walked: list[_Place] = []
    for nth, choice in enumerate(made):
        known = path[nth] if nth < len(path) else None
        if known is None:
            known = _Place(choice.chosen, choice.possible, {}, asleep)
        elif (
            known.chosen != choice.chosen
        ):  # a schedule that strayed goes its own way, and is not asked for again
            known.tried.setdefault(known.chosen, ANYTHING)
            known.chosen, path = choice.chosen, []
        other = 1 - choice.chosen
        sleeper = known.asleep.get(other) or known.tried.get(other)
        known.tried[choice.chosen] = choice.did
        walked.append(known)
        done = (choice.did, *([choice.let_go] if choice.let_go else []))
        asleep = {other: sleeper} if sleeper and not any(sleeper.meets(step) for step in done) else {}
    return walked


def _exchangeable(made: Schedule) -> Iterator[int]:
    """Tell of the steps that meet a later one of the other session, with nothing between them that had to come after the one and before the other."""
    # Whose, at which choice, what, and whether it was let go by the one before.
    steps: list[tuple[int, int, Step, bool]] = []
    for nth, choice in enumerate(made):
        steps.append((choice.chosen, nth, choice.did, False))
        if choice.let_go:
            steps.append((1 - choice.chosen, nth, choice.let_go, True))
    # Of every step, those before it that had to come first.
    earlier: list[set[int]] = []
    for at, (session, _, step, let_go) in enumerate(steps):
        needs: set[int] = set()
        for before in range(at - 1, -1, -1):
            whose, nth, what, was_let_go = steps[before]
            if before in needs:
                continue
            if whose == session or what.meets(step):
                if whose != session and not let_go and not was_let_go:
                    yield nth
                needs |= {before, *earlier[before]}
        earlier.append(needs)
