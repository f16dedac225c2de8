"""Random lives in which jobs run after others and wait: for a time, for an event, for jobs."""

import json
from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from psycopg.types.json import Jsonb

from sql.lives import LATER, ON_CONFLICT, SCOPES, Lives, document, row
from sql.model import Attempt, Wait
from sql.model_world import Wanted
from sql.support import Row

EVENTS = ("paid", "shipped")
OPENINGS = ("parent", "wait for jobs", "wait timed out", "flow")
KEYS = (None, None, "a", "b")


class WaitingLives(Lives):
    """Flows, children, and whoever waits."""

    @initialize(data=st.data(), first=st.sampled_from(OPENINGS), then=st.sampled_from(OPENINGS))
    def open(self, data: st.DataObject, first: str, then: str) -> None:
        """Begin with what it would take many calls to come to by chance."""
        self.begin()
        for opening in sorted({first, then}):
            if not self._running():
                self.claim(0, 3)
            if opening == "parent":
                self.enqueue_children(data, None, later=False)
            elif opening == "flow":
                needed = data.draw(st.sampled_from(self._running()))
                self._enqueue(Wanted(self._next_id(), after=(needed.job_id,)))
                self.emit(EVENTS[1])
            elif opening == "wait for jobs":
                self.wait_for_jobs(data, timed=False)
            elif opening == "wait timed out":
                self.wait_for_event(data, EVENTS[0], timed=True)
                self.time_passes()
                self.claim(1, 3)
            self.world.follow()

    # -- flows -----------------------------------------------------------------------------------------------------------

    @precondition(lambda self: self._has_room())
    @rule(data=st.data(), many=st.integers(1, 3))
    def enqueue_flow(self, data: st.DataObject, many: int) -> None:
        flow: list[Wanted] = []
        for _ in range(many):
            known = [*self.world.jobs, *(one.id for one in flow)][-5:]
            flow.append(
                Wanted(
                    self._next_id(),
                    key=data.draw(st.sampled_from(KEYS)),
                    scope=data.draw(st.sampled_from(SCOPES)),
                    on_conflict=data.draw(st.sampled_from(ON_CONFLICT)),
                    later=data.draw(st.booleans()),
                    after=tuple(data.draw(st.lists(st.sampled_from(known), max_size=2, unique=True))),
                    runs_anyway=data.draw(st.booleans()),
                )
            )
        self._enqueue(*flow)

    @precondition(lambda self: self._has_room() and self._running())
    @rule(data=st.data(), key=st.sampled_from(KEYS), later=st.booleans())
    def enqueue_children(self, data: st.DataObject, key: str | None, *, later: bool) -> None:
        parent = data.draw(st.sampled_from(self._running()))
        first = Wanted(self._next_id(), key=key, later=later, parent=parent.job_id)
        second = Wanted(self._next_id(), after=(first.id,), parent=parent.job_id)
        asked = Jsonb([document(first), document(second)])
        fence = (*row(parent).values(), f"children{self.steps}", "", asked, None)
        self.happened["children"] += 1

        self.agree(
            lambda: self.world.enqueue([first, second]),
            lambda: self.machine.value(
                "select holdfast.enqueue_children(%s, %s, %s, %s, %s, %s, %s)", *fence
            ),
        )

    # -- waits -----------------------------------------------------------------------------------------------------------

    @precondition(lambda self: self._running())
    @rule(data=st.data(), later=st.booleans())
    def sleep(self, data: st.DataObject, *, later: bool) -> None:
        attempt = data.draw(st.sampled_from(self._running()))
        job, step = self.world.jobs[attempt.job_id], f"sleep{self.steps}"
        waits = job.sleep(step, until=self.world.later if later else self.world.now, now=self.world.now)
        self.happened["a sleep"] += waits

        seconds = LATER if later else 0.0
        assert self._asked(attempt, "sleep_until", step, "", seconds, None, None)["sleep_until"] is waits

    @precondition(lambda self: self._running())
    @rule(data=st.data(), event=st.sampled_from(EVENTS), timed=st.booleans())
    def wait_for_event(self, data: st.DataObject, event: str, *, timed: bool) -> None:
        attempt = data.draw(st.sampled_from(self._running()))
        new = Wait(f"wait{self.steps}", event, (), self.world.later if timed else None)
        self._wait(attempt, self._old(attempt, data) or new)

    @precondition(lambda self: self._running())
    @rule(data=st.data(), timed=st.booleans())
    def wait_for_jobs(self, data: st.DataObject, *, timed: bool) -> None:
        attempt = data.draw(st.sampled_from(self._running()))
        others = [job.id for job in self._all() if job.id != attempt.job_id][-5:]
        jobs = data.draw(st.lists(st.sampled_from(others), min_size=1, max_size=2, unique=True))
        new = Wait(f"wait{self.steps}", None, tuple(jobs), self.world.later if timed else None)
        self._wait(attempt, self._old(attempt, data) or new)

    @precondition(lambda self: any(job.wait for job in self._all()) or not self.world.emitted)
    @rule(event=st.sampled_from(EVENTS))
    def emit(self, event: str) -> None:
        payload = Jsonb(f"{event} {self.world.emitted[event]}")
        woken = self.machine.value("select holdfast.emit(%s, %s)", event, payload)
        assert woken == self.world.emit(event)

    def late_calls(self, attempt: Attempt) -> list[Callable[[], object]]:
        other = next(job for job in self.world.jobs if job != attempt.job_id)
        return [
            *super().late_calls(attempt),
            lambda: self._asked(attempt, "sleep_until", "late", "", LATER, None, None),
            lambda: self._asked(attempt, "wait_for_event", "late", "", EVENTS[0], None, None),
            lambda: self._asked(attempt, "wait_for_jobs", "late", "", [other], None, None),
        ]

    def _wait(self, attempt: Attempt, wait: Wait) -> None:
        """Wait as a task does; its replay, when it is one, says anew how long."""
        timeout = None if wait.until is None else LATER
        self.agree(
            lambda: self.world.wait(self.world.jobs[attempt.job_id], wait),
            lambda: _answer(
                self._asked(attempt, "wait_for_event", wait.step, "", wait.event, timeout, None)
                if wait.event
                else self._asked(attempt, "wait_for_jobs", wait.step, "", [*wait.jobs], timeout, None)
            ),
        )

    def _asked(self, attempt: Attempt, function: str, *arguments: object) -> Row:
        return self.machine.ask(function, row(attempt), *arguments)

    def _old(self, attempt: Attempt, data: st.DataObject) -> Wait | None:
        """Give what the job has asked before and not been answered, as a replay comes to it; seldom another branch is quicker."""
        wait = self.world.jobs[attempt.job_id].wait
        return wait if wait and data.draw(st.integers(0, 3)) else None


def _answer(told: Row) -> str:
    if told["waits"] or told["timed_out"]:
        return "waits" if told["waits"] else "timed out"
    return str(json.loads(told["payload"])) if "payload" in told else "over"
