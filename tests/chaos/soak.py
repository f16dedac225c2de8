"""A soak: memory, connections and the size of tables and indexes, looked at again and again, drawn, and judged for being flat."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeVar

import psycopg

from chaos.judge import Finding
from chaos.nemesis import say
from chaos.strikes.on_database import OutageOfMinutes
from chaos.world import World

T = TypeVar("T")

EVERY = 2.0
# Kept by design for days, or for ever: they grow with what happens, and are no leak.
KEPT = (
    "feed",
    "usage",
    "statistic",
    "timing",
    "schedule_run",
    "audit",
    "event",
    "webhook_delivery",
    "worker",
    "callback_nonce",
)
CONNECTIONS = (
    "select count(*) from pg_stat_activity where usename = 'chaos_app' and application_name <> 'crowd'"
)
SIZES = """
select c.relname, c.relkind = 'i', case when c.relkind = 'i' then pg_relation_size(c.oid) else pg_table_size(c.oid) end
  from pg_class c
  left join pg_index i on i.indexrelid = c.oid
  join pg_class t on t.oid = coalesce(i.indrelid, c.oid)
 where t.relnamespace = 'holdfast'::regnamespace
   and c.relkind in ('r', 'i')
   and not exists (select from unnest(%s::text[]) as kept where t.relname = kept or t.relname like kept || '\\_%%')
"""
# How much the end may be above what follows the first sixth: what is flat goes up and down with retention and strikes.
GROWTH = 1.25
LONG_ENOUGH = 1200.0  # what retention keeps for a minute comes and goes many times in it
# What grows evenly hides behind the highest point of a strike. It ends higher than it began by as much, and would have come there
# by the step that is usual from one part of the run to the next. Either alone is no growth: an index ends higher that keeps what it took
# when a crash made the server forget for a while what was dead, in a few steps; and what goes up slowly and down at once usually goes up.
PARTS = 30
SIXTH = PARTS // 6
# Each with the part of the run by which its highest point must have come: what grows by half would hide behind a later one, but
# tables and indexes come and go with retention for longer, and a crash of the server lets them grow for a while.
SERIES = {"memory of a worker, MB": 1 / 3, "connections": 1 / 3, "tables, MB": 1 / 2, "indexes, MB": 1 / 2}
Sample = tuple[float, tuple[float, ...]]  # seconds since the beginning, and each of the series
Sizes = dict[str, int]  # in bytes, of each table and index
NAMED = 8  # of those that have grown most
MB = 2**20
COLOURS = ("#2f6f4f", "#8a4b08", "#1f4e8c", "#7a2f6f")


class Levels(NamedTuple):
    """Where something stood in the second sixth of the run and in the last: each the middle of what was seen."""

    name: str
    before: float
    at_the_end: float

    @property
    def growth(self) -> float:
        return self.at_the_end - self.before


@dataclass
class Watch:
    """What was seen, with the time since the beginning."""

    world: World
    on: bool
    samples: list[Sample] = field(default_factory=list)
    sizes: list[tuple[float, Sizes]] = field(default_factory=list)
    seconds: float = 0.0  # how long it was to look

    def look(self, since: float) -> None:
        with psycopg.connect(self.world.owner_url, connect_timeout=3, autocommit=True) as connection:
            connections = connection.execute(CONNECTIONS).fetchall()[0][0]
            relations = connection.execute(SIZES, (list(KEPT),)).fetchall()
        memory = self.world.memory()
        if memory:
            at = time.monotonic() - since
            tables, indexes = (
                sum(size for _, is_index, size in relations if is_index is wanted) for wanted in (False, True)
            )
            self.samples.append((at, (max(memory) / MB, float(connections), tables / MB, indexes / MB)))
            self.sizes.append((at, {name: size for name, _, size in relations}))

    def findings(self) -> list[Finding]:
        """What has grown since the first sixth of the run was over."""
        if not self.on:
            return []
        grew = [f"{name} from {before:.1f} to {end:.1f} MB" for name, before, end in most_grown(self.sizes)]
        say("grew most: " + ("; ".join(grew) or "nothing"))
        if missed := unseen(self.samples, self.seconds, self.world.plan.lease):
            return [Finding("nobody looked whether anything grows", missed)]
        if self.seconds < LONG_ENOUGH:
            say(f"NOT RUN: whether anything grows: that takes {LONG_ENOUGH / 60:.0f} minutes")
            return []
        return [Finding("grows", said) for said in grown(self.samples)]

    def told(self) -> dict[str, Any] | None:
        """What is published of it."""
        if not self.on:
            return None
        return {
            "levels": [level._asdict() for level in levels(self.samples)],
            "grew_most_mb": [level._asdict() for level in most_grown(self.sizes)],
        }


def seen_every(lease: float) -> float:
    """So long nobody may have looked: half as long again as the longest strike that keeps the database away."""
    return max(OutageOfMinutes.leases) * lease * 1.5


def unseen(samples: list[Sample], seconds: float, lease: float) -> str | None:
    """Say for how long nothing was seen where that is long."""
    seen = [0.0, *(at for at, _ in samples), seconds]
    longest, since = max((after - before, before) for before, after in pairwise(seen))
    return f"for {longest:.0f} s from the {since:.0f}th second on" if longest > seen_every(lease) else None


def grown(samples: list[Sample]) -> list[str]:
    """Compare the last third with what follows the first sixth, each by its highest point; and see what grows evenly."""
    whole = samples[-1][0]
    found = []
    for place, (name, grown_up) in enumerate(SERIES.items()):
        early = [seen[place] for at, seen in samples if whole / 6 <= at < whole * grown_up]
        late = [seen[place] for at, seen in samples if at >= whole * 2 / 3]
        if early and late and max(late) > max(early) * GROWTH:
            found.append(f"{name}: at most {max(early):.1f} before, {max(late):.1f} at the end")
    return found + [
        f"{name}: evenly, from {_ends(middles)[0]:.1f} to {_ends(middles)[1]:.1f}"
        for name, middles in _middles(samples).items()
        if grows_evenly(middles)
    ]


def grows_evenly(middles: Sequence[float]) -> bool:
    before, at_the_end = _ends(middles)
    steps = [after - before for before, after in pairwise(middles)]
    return min(median(steps) * len(steps), at_the_end - before) > before * (GROWTH - 1)


def levels(samples: list[Sample]) -> list[Levels]:
    """Say where each of the series stood; none where nobody looked."""
    return [Levels(name, *_ends(middles)) for name, middles in _middles(samples).items()]


def _ends(middles: Sequence[float]) -> tuple[float, float]:
    return median(middles[:SIXTH]), median(middles[-SIXTH:])


def _middles(samples: list[Sample]) -> dict[str, list[float]]:
    """Give the middle of what was seen of each of the series, in each part of the run after its first sixth."""
    whole = samples[-1][0] if samples else 0.0
    parts = [
        [seen for at, seen in samples if whole * part / PARTS <= at <= whole * (part + 1) / PARTS]
        for part in range(SIXTH, PARTS)
    ]
    seen_parts = [part for part in parts if part]  # an outage may be longer than one of them
    if not seen_parts:
        return {}
    return {
        name: [median(seen[place] for seen in part) for part in seen_parts]
        for place, name in enumerate(SERIES)
    }


def most_grown(sizes: list[tuple[float, Sizes]]) -> list[Levels]:
    """Name the tables and indexes that have grown most, in MB: what was not there has no size."""
    early, late = _sixths(sizes)
    if not early or not late:
        return []
    found = [
        Levels(name, *(median(seen.get(name, 0) for seen in sixth) / MB for sixth in (early, late)))
        for name in {name for seen in (*early, *late) for name in seen}
    ]
    return sorted((one for one in found if one.growth > 0), key=lambda one: (-one.growth, one.name))[:NAMED]


def _sixths(samples: list[tuple[float, T]]) -> tuple[list[T], list[T]]:
    """What was seen in the second sixth, and in the last."""
    whole = samples[-1][0] if samples else 0.0
    return (
        [seen for at, seen in samples if whole / 6 <= at < whole / 3],
        [seen for at, seen in samples if at >= whole * 5 / 6],
    )


@contextmanager
def watched(world: World, picture: Path, on: bool) -> Iterator[Watch]:
    """Look at the world in a thread of its own, and draw what was seen."""
    watch = Watch(world, on)
    over = threading.Event()
    began = time.monotonic()

    def go_on() -> None:
        while not over.wait(EVERY):
            with suppress(psycopg.Error, OSError):  # struck: it will be there again
                watch.look(began)

    thread = threading.Thread(target=go_on, daemon=True)
    if on:
        thread.start()
    try:
        yield watch
    finally:
        over.set()
        watch.seconds = time.monotonic() - began
        if on:
            thread.join()
            picture.write_text(drawn(watch.samples), "utf-8")


def drawn(samples: list[Sample]) -> str:
    """Draw one small chart a series, one below the other, with a line for every ten minutes."""
    width, height, gap = 720, 110, 34
    whole = max((at for at, _ in samples), default=1.0)
    bottom = len(SERIES) * (height + gap)
    minutes = range(0, int(whole / 60) + 1, 10)
    parts = [
        part
        for minute in minutes
        for x in [minute * 60 / whole * width]
        for part in (
            f'<line x1="{x:.1f}" y1="{gap}" x2="{x:.1f}" y2="{bottom}" stroke="#eee"/>',
            f'<text x="{x:.1f}" y="{bottom + 18}" fill="#777">{minute} min</text>',
        )
    ]
    for place, name in enumerate(SERIES):
        top = place * (height + gap) + gap
        most = max((seen[place] for _, seen in samples), default=1.0) or 1.0
        points = " ".join(
            f"{at / whole * width:.1f},{top + height - seen[place] / most * height:.1f}"
            for at, seen in samples
        )
        parts += [
            f'<text x="0" y="{top - 8}">{name} (up to {most:.0f})</text>',
            f'<rect x="0" y="{top}" width="{width}" height="{height}" fill="none" stroke="#ccc"/>',
            f'<polyline points="{points}" fill="none" stroke="{COLOURS[place]}"/>',
        ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-16 0 {width + 48} {bottom + gap}" font-family="sans-serif" font-size="13">'
        '<rect x="-16" width="100%" height="100%" fill="white"/>' + "".join(parts) + "</svg>\n"
    )
